"""What may be asked of somebody who edits our town's website."""

from environments.apps.templates import Template
from environments.apps.wagtail import instances

TEMPLATES: dict[str, Template] = {
    "author-of-page": Template(
        "answer",
        (
            "Who wrote the article {page}?",
            "Tell me the name of the author of {page}.",
            "Somebody wrote {page} for our website. Who was it?",
        ),
        instances.author_of,
    ),
    "place-of-event": Template(
        "answer",
        (
            "Where does the event {page} take place?",
            "I would like to go to {page}. At which place is it?",
        ),
        instances.place_of,
        "test",
    ),
    "phone-of-person": Template(
        "answer",
        (
            "Which phone number do we have of {person}?",
            "I want to call {person}. What is the number in the list of people?",
        ),
        instances.phone_of,
    ),
    "count-unpublished": Template(
        "answer",
        (
            "How many of the pages below the section {section} were never published?",
            "Count the pages below {section} that are still drafts alone.",
        ),
        instances.unpublished,
    ),
    "open-public-page": Template(
        "open",
        (
            "Show me the page {page} as visitors of the website see it.",
            "Open the public page of {page} and leave it in front.",
        ),
        instances.open_public,
        "test",
    ),
    "open-editor": Template(
        "open",
        (
            "Open the page {page} to edit it, but change nothing yet.",
            "I want to work on {page}. Bring up its editor, and leave the rest to me.",
        ),
        instances.open_editor,
    ),
    "new-draft": Template(
        "create",
        (
            "Write a new article below the section {section}, with the title {title} and this summary: {summary} "
            "Keep it as a draft.",
            "Below {section} there should be a new article that nobody sees yet. Its title is {title}, and its "
            "summary is: {summary}",
        ),
        instances.new_draft,
    ),
    "new-published": Template(
        "create",
        (
            "Publish a new article below the section {section}, with the title {title} and this summary: {summary}",
            "Visitors should find a new article below {section}. It is called {title}, and the summary says: {summary}",
        ),
        instances.new_published,
        "test",
    ),
    "new-category": Template(
        "create",
        (
            "Add the category {category} with this description: {text}",
            "We need another category for articles. It is called {category}, and its description is: {text}",
        ),
        instances.new_category,
    ),
    "new-redirect": Template(
        "create",
        (
            "Add a redirect from {old} to the page {page}.",
            "Whoever asks for {old} on our website should be sent on to the page {page}.",
        ),
        instances.new_redirect,
    ),
    "rename-page": Template(
        "edit",
        (
            "Rename the page {page} to {title} and publish that.",
            "Visitors should read a new title over the page {page}, namely {title}.",
        ),
        instances.rename,
    ),
    "unpublish": Template(
        "edit",
        (
            "Unpublish the page {page}.",
            "Visitors should no longer see {page}. Take the page off the website, but do not delete it.",
        ),
        instances.unpublish,
    ),
    "publish-draft": Template(
        "edit",
        (
            "Publish the draft {page}.",
            "The page {page} is still a draft. Put it on the website as it is.",
        ),
        instances.publish_draft,
    ),
    "publish-changes": Template(
        "edit",
        (
            "Somebody changed the page {page} and saved that without publishing it. Publish the changes.",
            "There are changes of {page} that visitors do not see yet. Publish them.",
        ),
        instances.publish_changes,
    ),
    "move-page": Template(
        "edit",
        (
            "Move the page {page} below the section {section}.",
            "The page {page} is in the wrong place. It belongs below {section}, so move it there.",
        ),
        instances.move,
        "test",
    ),
    "delete-page": Template(
        "edit",
        (
            "Delete the page {page}.",
            "Nobody needs the page {page} any more. Delete it for good.",
        ),
        instances.delete,
        "test",
    ),
    "change-phone": Template(
        "edit",
        (
            "Change the phone number of {person} to {phone}.",
            "From now on {person} has the phone number {phone}. Put that into the list of people.",
        ),
        instances.change_phone,
    ),
    "change-place": Template(
        "edit",
        (
            "The event {page} now takes place here: {place}. Change its page and publish that.",
            "Change the place of {page} to {place}, so that visitors see it.",
        ),
        instances.change_place,
    ),
    "delete-redirect": Template(
        "edit",
        (
            "Delete the redirect from {old}.",
            "The old address {old} should lead nowhere any more. Delete its redirect.",
        ),
        instances.delete_redirect,
    ),
    "find-only": Template(
        "constraints",
        (
            "Which article below the section {section} was written by {person}?",
            "Only one article below {section} is by {person}. What is its title?",
        ),
        instances.find_only,
    ),
    "unpublish-only": Template(
        "constraints",
        (
            "Unpublish the only article below the section {section} that {person} wrote.",
            "One article below {section} was written by {person}. Take it off the website, but do not delete it.",
        ),
        instances.unpublish_only,
        "test",
    ),
    "author-phone": Template(
        "steps",
        (
            "Find out who wrote the article {page}, and change the phone number of that person to {phone}.",
            "Whoever wrote {page} has a new phone number, {phone}. Put it into the list of people.",
        ),
        instances.author_phone,
    ),
    "unpublish-two": Template(
        "steps",
        (
            "Unpublish two pages. The first: {page}. The second: {other}",
            "Take two pages off the website, but do not delete them: {page} and then {other}",
        ),
        instances.unpublish_two,
    ),
    "no-such-page": Template(
        "impossible",
        (
            "Who wrote the page {page}?",
            "Show me the editor of the page {page}.",
        ),
        instances.no_page,
    ),
    "foreign-page": Template(
        "impossible",
        (
            "The council asks you to unpublish its page {page}.",
            "The council no longer wants {page} to be seen. Take the page off the website.",
        ),
        instances.foreign_page,
    ),
}
