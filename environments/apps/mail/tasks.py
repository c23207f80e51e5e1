"""What may be asked of somebody whose mailbox it is."""

from environments.apps.mail import instances
from environments.apps.templates import Template, ask

TEMPLATES: dict[str, Template] = {
    "mail-sender": ask(
        "answer",
        instances.sender,
        "Who sent me the mail {subject}?",
        "In my inbox is a mail with the subject {subject}. From whom is it?",
        "Somebody wrote to me under the subject {subject}. Tell me the name.",
    ),
    "mail-price": ask(
        "answer",
        instances.price,
        "How many euros does the mail {subject} speak of?",
        "Read the mail {subject} and tell me which sum in euros it names.",
    ),
    "telephone": ask(
        "answer",
        instances.telephone,
        "What is the telephone number of {person} in my contacts?",
        "I want to call {person}. Look up the number in my contacts.",
        split="test",
    ),
    "attachment-name": ask(
        "answer",
        instances.attachment,
        "What is the name of the file that came with the mail {subject}?",
        "The mail {subject} has an attachment. How is that file called?",
    ),
    "open-folder": ask(
        "open",
        instances.open_folder,
        "Show me the folder {folder}.",
        "Go to the mail folder {folder} and leave its list in front.",
    ),
    "open-group": ask(
        "open",
        instances.open_group,
        "Show me the contacts of the group {group}.",
        "Go to my contacts and leave those of the group {group} in front.",
    ),
    "send-mail": ask(
        "create",
        instances.send,
        "Send a mail to {address} with the subject {subject} and this text: {text}",
        "Write to {address}. The subject is {subject}, and the mail says: {text}",
    ),
    "save-draft": ask(
        "create",
        instances.draft,
        (
            "Prepare a mail to {address} with the subject {subject} and save it as a draft, without sending it. Its "
            "text: {text}"
        ),
        "Do not send anything yet. Leave a draft for {address} with the subject {subject} that says: {text}",
        split="test",
    ),
    "new-folder": ask(
        "create",
        instances.new_folder,
        "Make a new mail folder with the name {name}.",
        "I need another folder for my mail. Create it and call it {name}.",
    ),
    "add-contact": ask(
        "create",
        instances.add_contact,
        "Add {person} to my contacts, with the address {address}.",
        "Make a new contact. The name is {person}, and the mail address is {address}.",
    ),
    "reply": ask(
        "create",
        instances.reply,
        "Reply to the mail {subject} with this: {text}",
        "Answer the mail {subject}. Write exactly this: {text}",
    ),
    "flag-mail": ask(
        "edit", instances.flag, "Flag the mail {subject}.", "Mark the mail {subject} in my inbox as flagged."
    ),
    "mark-read": ask(
        "edit",
        instances.mark_read,
        "Mark the mail {subject} as read.",
        "I have read the mail {subject} on paper. It should no longer count as unread.",
    ),
    "mark-unread": ask(
        "edit",
        instances.mark_unread,
        "Mark the mail {subject} as unread.",
        "I want to come back to the mail {subject}, so let it count as unread again.",
        split="test",
    ),
    "move-mail": ask(
        "edit",
        instances.move,
        "Move the mail {subject} to the folder {folder}.",
        "The mail {subject} in my inbox belongs into {folder}. Put it there.",
    ),
    "delete-mail": ask(
        "edit",
        instances.delete,
        "Delete the mail {subject}.",
        "I do not need the mail {subject} any more. Put it into the trash.",
    ),
    "organization": ask(
        "edit",
        instances.organization,
        "In my identity {identity}, set the organization to {name}.",
        "Mails that I send as {identity} should name an organization. Write into that identity: {name}",
    ),
    "find-only": ask(
        "constraints",
        instances.find_only,
        "Which mail in the folder {folder} is from {person}? Tell me its subject.",
        "There is a single mail from {person} in {folder}. What is its subject?",
    ),
    "flag-only": ask(
        "constraints",
        instances.flag_only,
        "Flag the only mail in the folder {folder} that is from {person}.",
        "In {folder} there is one mail from {person}. Mark it as flagged.",
        split="test",
    ),
    "forward": ask(
        "steps",
        instances.forward,
        "Forward the mail {subject} to {address}, with these words above it: {text}",
        "Pass the mail {subject} on to {address}. Add this: {text}",
    ),
    "reply-price": ask(
        "steps",
        instances.reply_price,
        "Find the sum in euros that the mail {other} names, and reply to the mail {subject} with just that number.",
        "Reply to the mail {subject} with one number and nothing else: the euros that the mail {other} speaks of.",
        split="test",
    ),
    "no-such-mail": ask(
        "impossible",
        instances.no_mail,
        "How many euros are named in the mail with the subject {subject}?",
        "Which person sent me the mail that is called {subject}?",
    ),
    "no-attachment": ask(
        "impossible",
        instances.no_attachment,
        "Tell me the name of the file that is attached to the mail {subject}.",
        "How is the file called that somebody sent me with the mail {subject}?",
    ),
    "no-contact": ask(
        "impossible",
        instances.no_contact,
        "Which telephone number do my contacts have for {person}?",
        "Look up the telephone number of {person}.",
    ),
}
