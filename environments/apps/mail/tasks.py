"""What may be asked of somebody whose mailbox it is."""

from environments.apps.mail import instances
from environments.apps.templates import Template

TEMPLATES: dict[str, Template] = {
    "mail-sender": Template(
        "answer",
        (
            "Who sent me the mail {subject}?",
            "In my inbox is a mail with the subject {subject}. From whom is it?",
            "Somebody wrote to me under the subject {subject}. Tell me the name.",
        ),
        instances.sender,
    ),
    "mail-price": Template(
        "answer",
        (
            "How many euros does the mail {subject} speak of?",
            "Read the mail {subject} and tell me which sum in euros it names.",
        ),
        instances.price,
    ),
    "telephone": Template(
        "answer",
        (
            "What is the telephone number of {person} in my contacts?",
            "I want to call {person}. Look up the number in my contacts.",
        ),
        instances.telephone,
        "test",
    ),
    "attachment-name": Template(
        "answer",
        (
            "What is the name of the file that came with the mail {subject}?",
            "The mail {subject} has an attachment. How is that file called?",
        ),
        instances.attachment,
    ),
    "open-folder": Template(
        "open",
        (
            "Show me the folder {folder}.",
            "Go to the mail folder {folder} and leave its list in front.",
        ),
        instances.open_folder,
    ),
    "open-group": Template(
        "open",
        (
            "Show me the contacts of the group {group}.",
            "Go to my contacts and leave those of the group {group} in front.",
        ),
        instances.open_group,
    ),
    "send-mail": Template(
        "create",
        (
            "Send a mail to {address} with the subject {subject} and this text: {text}",
            "Write to {address}. The subject is {subject}, and the mail says: {text}",
        ),
        instances.send,
    ),
    "save-draft": Template(
        "create",
        (
            "Prepare a mail to {address} with the subject {subject} and save it as a draft, without sending it. Its "
            "text: {text}",
            "Do not send anything yet. Leave a draft for {address} with the subject {subject} that says: {text}",
        ),
        instances.draft,
        "test",
    ),
    "new-folder": Template(
        "create",
        (
            "Make a new mail folder with the name {name}.",
            "I need another folder for my mail. Create it and call it {name}.",
        ),
        instances.new_folder,
    ),
    "add-contact": Template(
        "create",
        (
            "Add {person} to my contacts, with the address {address}.",
            "Make a new contact. The name is {person}, and the mail address is {address}.",
        ),
        instances.add_contact,
    ),
    "reply": Template(
        "create",
        (
            "Reply to the mail {subject} with this: {text}",
            "Answer the mail {subject}. Write exactly this: {text}",
        ),
        instances.reply,
    ),
    "flag-mail": Template(
        "edit",
        (
            "Flag the mail {subject}.",
            "Mark the mail {subject} in my inbox as flagged.",
        ),
        instances.flag,
    ),
    "mark-read": Template(
        "edit",
        (
            "Mark the mail {subject} as read.",
            "I have read the mail {subject} on paper. It should no longer count as unread.",
        ),
        instances.mark_read,
    ),
    "mark-unread": Template(
        "edit",
        (
            "Mark the mail {subject} as unread.",
            "I want to come back to the mail {subject}, so let it count as unread again.",
        ),
        instances.mark_unread,
        "test",
    ),
    "move-mail": Template(
        "edit",
        (
            "Move the mail {subject} to the folder {folder}.",
            "The mail {subject} in my inbox belongs into {folder}. Put it there.",
        ),
        instances.move,
    ),
    "delete-mail": Template(
        "edit",
        (
            "Delete the mail {subject}.",
            "I do not need the mail {subject} any more. Put it into the trash.",
        ),
        instances.delete,
    ),
    "organization": Template(
        "edit",
        (
            "In my identity {identity}, set the organization to {name}.",
            "Mails that I send as {identity} should name an organization. Write into that identity: {name}",
        ),
        instances.organization,
    ),
    "find-only": Template(
        "constraints",
        (
            "Which mail in the folder {folder} is from {person}? Tell me its subject.",
            "There is a single mail from {person} in {folder}. What is its subject?",
        ),
        instances.find_only,
    ),
    "flag-only": Template(
        "constraints",
        (
            "Flag the only mail in the folder {folder} that is from {person}.",
            "In {folder} there is one mail from {person}. Mark it as flagged.",
        ),
        instances.flag_only,
        "test",
    ),
    "forward": Template(
        "steps",
        (
            "Forward the mail {subject} to {address}, with these words above it: {text}",
            "Pass the mail {subject} on to {address}. Add this: {text}",
        ),
        instances.forward,
    ),
    "reply-price": Template(
        "steps",
        (
            "Find the sum in euros that the mail {other} names, and reply to the mail {subject} with just that number.",
            "Reply to the mail {subject} with one number and nothing else: the euros that the mail {other} speaks of.",
        ),
        instances.reply_price,
        "test",
    ),
    "no-such-mail": Template(
        "impossible",
        (
            "How many euros are named in the mail with the subject {subject}?",
            "Which person sent me the mail that is called {subject}?",
        ),
        instances.no_mail,
    ),
    "no-attachment": Template(
        "impossible",
        (
            "Tell me the name of the file that is attached to the mail {subject}.",
            "How is the file called that somebody sent me with the mail {subject}?",
        ),
        instances.no_attachment,
    ),
    "no-contact": Template(
        "impossible",
        (
            "Which telephone number do my contacts have for {person}?",
            "Look up the telephone number of {person}.",
        ),
        instances.no_contact,
    ),
}
