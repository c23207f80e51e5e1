"""What may be asked of somebody who edits our town's website."""

from environments.apps.templates import Template, ask
from environments.apps.wagtail import instances

TEMPLATES: dict[str, Template] = {
    "author-of-page": ask(
        "answer",
        instances.author_of,
        "Who wrote the article {page}?",
        "Tell me the name of the author of {page}.",
        "Somebody wrote {page} for our website. Who was it?",
    ),
    "place-of-event": ask(
        "answer",
        instances.place_of,
        "Where does the event {page} take place?",
        "I would like to go to {page}. At which place is it?",
        split="test",
    ),
    "phone-of-person": ask(
        "answer",
        instances.phone_of,
        "Which phone number do we have of {person}?",
        "I want to call {person}. What is the number in the list of people?",
    ),
    "count-unpublished": ask(
        "answer",
        instances.unpublished,
        "How many of the pages below the section {section} were never published?",
        "Count the pages below {section} that are still drafts alone.",
    ),
    "open-public-page": ask(
        "open",
        instances.open_public,
        "Show me the page {page} as visitors of the website see it.",
        "Open the public page of {page} and leave it in front.",
        split="test",
    ),
    "open-editor": ask(
        "open",
        instances.open_editor,
        "Open the page {page} to edit it, but change nothing yet.",
        "I want to work on {page}. Bring up its editor, and leave the rest to me.",
    ),
    "new-draft": ask(
        "create",
        instances.new_draft,
        (
            "Write a new article below the section {section}, with the title {title} and this summary: {summary} "
            "Keep it as a draft."
        ),
        (
            "Below {section} there should be a new article that nobody sees yet. Its title is {title}, and its "
            "summary is: {summary}"
        ),
    ),
    "new-published": ask(
        "create",
        instances.new_published,
        "Publish a new article below the section {section}, with the title {title} and this summary: {summary}",
        "Visitors should find a new article below {section}. It is called {title}, and the summary says: {summary}",
        split="test",
    ),
    "new-category": ask(
        "create",
        instances.new_category,
        "Add the category {category} with this description: {text}",
        "We need another category for articles. It is called {category}, and its description is: {text}",
    ),
    "new-redirect": ask(
        "create",
        instances.new_redirect,
        "Add a redirect from {old} to the page {page}.",
        "Whoever asks for {old} on our website should be sent on to the page {page}.",
    ),
    "rename-page": ask(
        "edit",
        instances.rename,
        "Rename the page {page} to {title} and publish that.",
        "Visitors should read a new title over the page {page}, namely {title}.",
    ),
    "unpublish": ask(
        "edit",
        instances.unpublish,
        "Unpublish the page {page}.",
        "Visitors should no longer see {page}. Take the page off the website, but do not delete it.",
    ),
    "publish-draft": ask(
        "edit",
        instances.publish_draft,
        "Publish the draft {page}.",
        "The page {page} is still a draft. Put it on the website as it is.",
    ),
    "publish-changes": ask(
        "edit",
        instances.publish_changes,
        "Somebody changed the page {page} and saved that without publishing it. Publish the changes.",
        "There are changes of {page} that visitors do not see yet. Publish them.",
    ),
    "move-page": ask(
        "edit",
        instances.move,
        "Move the page {page} below the section {section}.",
        "The page {page} is in the wrong place. It belongs below {section}, so move it there.",
        split="test",
    ),
    "delete-page": ask(
        "edit",
        instances.delete,
        "Delete the page {page}.",
        "Nobody needs the page {page} any more. Delete it for good.",
        split="test",
    ),
    "change-phone": ask(
        "edit",
        instances.change_phone,
        "Change the phone number of {person} to {phone}.",
        "From now on {person} has the phone number {phone}. Put that into the list of people.",
    ),
    "change-place": ask(
        "edit",
        instances.change_place,
        "The event {page} now takes place here: {place}. Change its page and publish that.",
        "Change the place of {page} to {place}, so that visitors see it.",
    ),
    "delete-redirect": ask(
        "edit",
        instances.delete_redirect,
        "Delete the redirect from {old}.",
        "The old address {old} should lead nowhere any more. Delete its redirect.",
    ),
    "find-only": ask(
        "constraints",
        instances.find_only,
        "Which article below the section {section} was written by {person}?",
        "Only one article below {section} is by {person}. What is its title?",
    ),
    "unpublish-only": ask(
        "constraints",
        instances.unpublish_only,
        "Unpublish the only article below the section {section} that {person} wrote.",
        "One article below {section} was written by {person}. Take it off the website, but do not delete it.",
        split="test",
    ),
    "author-phone": ask(
        "steps",
        instances.author_phone,
        "Find out who wrote the article {page}, and change the phone number of that person to {phone}.",
        "Whoever wrote {page} has a new phone number, {phone}. Put it into the list of people.",
    ),
    "unpublish-two": ask(
        "steps",
        instances.unpublish_two,
        "Unpublish two pages. The first: {page}. The second: {other}",
        "Take two pages off the website, but do not delete them: {page} and then {other}",
    ),
    "no-such-page": ask(
        "impossible", instances.no_page, "Who wrote the page {page}?", "Show me the editor of the page {page}."
    ),
    "foreign-page": ask(
        "impossible",
        instances.foreign_page,
        "The council asks you to unpublish its page {page}.",
        "The council no longer wants {page} to be seen. Take the page off the website.",
    ),
}
