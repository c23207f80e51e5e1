"""MiniWoB++'s expert reads what an agent reads: trees as their pages show them, and what it did before."""

import pytest

from data.actions.action import parse_reply
from data.conversation import StepText, build_chat
from environments.miniwob.expert.expert import reply

ONE = "[1] RootWebArea 'Click Test Task'\n\t[2] StaticText 'Click button ONE.'\n\t[3] button 'ONE'\n\t[4] button 'TWO'"
BOXES = (
    "[1] RootWebArea 'Click Checkboxes Task'\n\t[2] StaticText 'Select JAz, Gl8 and click Submit.'\n"
    "\t[3] checkbox 'JAz' checked: false\n\t[4] checkbox 'hG' checked: false\n\t[5] checkbox 'Gl8' checked: false\n"
    "\t[6] button 'Submit'"
)
LIST = (
    "[1] RootWebArea 'Choose List Task'\n\t[2] StaticText 'Select Onida from the list and click Submit.'\n"
    "\t[3] combobox '' hasPopup: menu expanded: False\n\t\t[4] option 'Lyda' selected: True\n"
    "\t\t[5] option 'Onida' selected: False\n\t[6] button 'Submit'"
)
LOGIN = (
    "[1] RootWebArea 'Login User Task'\n\t[2] StaticText 'Enter the '\n\t[3] StaticText 'username'\n"
    "\t[4] StaticText ' \"cheree\" and the '\n\t[5] StaticText 'password'\n"
    "\t[6] StaticText ' \"JAze\" into the text fields and press login.'\n\t[7] StaticText 'Username'\n"
    "\t[8] textbox '' required: False\n\t[9] StaticText 'Password'\n\t[10] textbox '' required: False\n"
    "\t[11] button 'Login'"
)
TEXT = (
    "[1] RootWebArea 'Enter Text Task'\n\t[2] StaticText 'Enter \"'\n\t[3] StaticText 'Cristin'\n"
    "\t[4] StaticText '\" into the text field and press Submit.'\n\t[5] textbox '' required: False\n"
    "\t[6] button 'Submit'"
)
TABS = (
    "[1] RootWebArea 'Click Tab Task'\n\t[2] StaticText 'Switch between the tabs to find ... \"ut\".'\n"
    "\t[3] tab 'Tab #1' selected: True\n\t[4] tab 'Tab #2' selected: False\n\t[5] StaticText 'lorem'"
)
CLOSE = (
    "[1] RootWebArea 'Click Dialog Task'\n\t[2] StaticText 'Click ... \"x\".'\n\t[3] button 'Close'\n\t[4] button 'OK'"
)
OVER = "[1] RootWebArea 'Click Test Task'\n\t[2] StaticText 'The episode is over.'"
COSTS = (
    "[1] RootWebArea 'Buy Ticket Task'\n\t[2] StaticText '1h 5m'\n\t[3] button 'Book for $91'\n"
    "\t[4] StaticText '2h'\n\t[5] button 'Book for $45'"
)
STORIES = {
    "Click button ONE.": (ONE, 0, "Click [3]", '"ONE"'),
    "Click button ONE, then click button TWO.": (ONE, 1, "Click [4]", '"TWO"'),
    "Select JAz, Gl8 and click Submit.": (BOXES, 1, "Click [5]", '"Gl8", "Submit"'),
    "Select JAz, Gl8 and click Submit": (BOXES, 2, "Click [6]", '"Submit"'),
    "Select 1b and click Submit.": (BOXES.replace("hG", "1b"), 0, "Click [4]", '"1b", "Submit"'),
    "Select nothing and click Submit.": (BOXES, 0, "Click [6]", '"Submit"'),
    "Select Onida from the list and click Submit.": (LIST, 0, "Click [5]", '"Onida", "Submit"'),
    'Enter the username "cheree" and the password "JAze" into the text fields and press login.': (
        *(LOGIN, 1, "Type [10]; JAze", '"JAze", "Login"'),
    ),
    'Enter "Cristin" into the text field and press Submit.': (TEXT, 0, "Type [5]; Cristin", '"Cristin", "Submit"'),
    'Switch between the tabs to find and click on the link "ut".': (TABS, 1, "Click [4]", ""),
    'Click the button in the dialog box labeled "x".': (CLOSE, 0, "Click [3]", '"Close"'),
    "Buy the ticket with the cheapest cost.": (COSTS, 0, "Click [5]", ""),
    "Buy the ticket with the shortest duration.": (COSTS, 0, "Click [3]", ""),
    "Click button TWO.": (OVER, 1, "ANSWER; done", ""),
    "Drag the shapes.": (ONE, 0, "ANSWER; I do not know how.", ""),
}


@pytest.mark.parametrize("ques", STORIES)
def test_the_expert_takes_the_next_step_and_names_what_is_left(ques: str) -> None:
    tree, steps_before, action, needs = STORIES[ques]
    past = StepText("[1] RootWebArea 'x'", reply="Thought: I see.\n\nAction: Click [3]")
    said = reply(build_chat("", ques, "http://miniwob.localhost:7070/", [past] * steps_before + [StepText(tree)]))
    title = tree.split("'")[1]
    assert said.startswith(f"Thought: I am on '{title}'. " + (f"I need {needs}. I should " if needs else ""))
    assert said.endswith(f"\n\nAction: {action}")
    assert parse_reply(said).action


def test_what_it_waited_for_is_no_step() -> None:
    ques = "Click button ONE, then click button TWO."
    steps = [StepText("[1] RootWebArea 'Click Button Task' busy: 1")]
    for tree, action in ((ONE, "Wait"), (ONE, "Click [3]"), (ONE, "Click [4]")):
        said = reply(build_chat("", ques, "http://miniwob.localhost:7070/", steps))
        assert said.endswith(f"\n\nAction: {action}")
        steps = [*steps[:-1], StepText(steps[-1].tree, reply=said), StepText(tree)]
