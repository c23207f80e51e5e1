"""The scripted expert: it reads what an agent reads, page by page."""

import pytest

from data.actions.action import parse_reply
from data.conversation import StepText, build_chat
from environments.apps.expert.expert import reply


def ask_expert(app: str, ques: str, tree: str, *past: str) -> str:
    steps = [StepText("[1] RootWebArea 'x'", reply=reply) for reply in past] + [StepText(tree)]
    return reply(build_chat("", ques, f"http://{app}.localhost:7070/", steps, last_n=1))


def test_a_catalog_is_read_on_where_its_heading_has_left_the_view() -> None:
    """Its name stands among the open pages, too, and a click there would lead back to its first rows."""
    tree = """[1] RootWebArea 'The Clock Rooms'
\t[2] link 'Catalog'
\t[3] cell 'Painted Regulator'
\t\t[4] link 'Painted Regulator'
\t[5] cell 'Otto Cranz'
\t[6] cell 'Blue Hall'
\t[7] cell '1787'"""
    ques = "Only one clock of {} stands in the Blue Hall. Which one is it? If this cannot be done, answer N/A."
    past = "Thought: I should click 'Catalog'.\n\nAction: Click [2]"
    assert ask_expert("tiddlywiki", ques.format("Otto Cranz"), tree, past).endswith("Action: Click [4]")
    assert ask_expert("tiddlywiki", ques.format("Pia Delacroix"), tree, past).endswith("Action: Scroll [WINDOW]; down")


BUGS = """[1] RootWebArea 'List of bugs - Observatory'
\t[2] cell 'major'
\t[3] cell '1'
\t[4] cell 'Guide camera stops'
\t\t[5] link 'Guide camera stops'
\t[6] cell 'specification'
\t[7] cell 'pending'
\t[8] cell 'minor'
\t[9] cell '2'
\t[10] cell 'Filter wheel'
\t\t[11] link 'Filter wheel'
\t[12] cell 'specification'
\t[13] cell 'pending'"""


def test_a_row_of_bugs_begins_before_its_number() -> None:
    ques = "There is one bug of severity minor in specification that is pending. Let boris have it."
    ques += " If this cannot be done, answer N/A."
    past = "Thought: I should click 'Bugs'.\n\nAction: Click [9]"
    assert ask_expert("roundup", ques, BUGS, past).endswith("Action: Click [11]")


OWNER = "Who is responsible for the ticket Map view in fog? If this cannot be done, answer N/A."
MOVE = "Change the priority of the ticket Map view in fog to minor. If this cannot be done, answer N/A."
TICKET = "[1] RootWebArea '#7 (Map view in fog) – Ferry Services'\n\t[2] link 'Modify'\n"
FORM = TICKET + "\t[3] combobox 'Priority:'\n\t[4] button 'Submit changes'\n"


@pytest.mark.parametrize(
    ("ques", "tree", "past", "action"),
    [
        (OWNER, "[1] RootWebArea 'Ferry Services'\n\t[2] link 'SEARCH'", (), "Click [2]"),
        (OWNER, "[1] RootWebArea 'Search – Ferry Services'\n\t[2] textbox 'Search'", (), "Type [2]; Map view in fog"),
        (OWNER, TICKET + "\t[3] rowheader 'Owned by:'\n\t[4] cell 'chen'", (), "ANSWER; chen"),
        (MOVE, TICKET, (), "Click [2]"),
        (MOVE, FORM, ("Step 1 of 3: x",), "Type [3]; minor"),
        (MOVE, FORM, ("Step 1 of 3: x", "Step 2 of 3: x"), "Click [4]"),
        (MOVE, TICKET, ("Step 1 of 3: x", "Step 2 of 3: x"), "Scroll [WINDOW]; down"),
        (MOVE, TICKET, ("Step 3 of 3: I should click 'Submit changes'.",), "ANSWER; done"),
    ],
)
def test_the_expert_reads_what_an_agent_reads(ques: str, tree: str, past: tuple[str, ...], action: str) -> None:
    said = ask_expert("trac", ques, tree, *(f"Thought: {words}\n\nAction: Wait" for words in past))
    assert said.endswith(f"Action: {action}") and parse_reply(said).action
    assert "I need " + ('"Map view in fog", "responsible".' if ques == OWNER else '"Map view in fog", "minor".') in said
