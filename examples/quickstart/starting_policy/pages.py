"""Synthetic page-reading text: what the starting policy is trained on before it ever sees a website.

Pages are random accessibility trees of made-up words; the instructions are direct ("open X", "put Y into Z", "what is
the W"), so the model learns to read a page, find an element and write the action, and nothing about any real or
embedded website. A sample is a conversation in the form of `data.conversation`, with more questions on the same page
behind it.
"""

import dataclasses
import random
from collections.abc import Callable

from data.conversation import StepText, build_conversation

ENGLISH = """
about above account across active add address after again agency album all alone amount anchor angle answer apple
archive arrow article artist aside atlas author autumn back badge balance ballet band bank banner base basic beach
beauty begin below bench best big bird birth black blank block blog blue board boat body bonus book border bottle
bottom box branch brand bread bridge brief bright bring brother brown browse bucket budget build bundle business
button cabin cable cake call camera camp cancel canvas card care cart case cash castle catalog category center chain
chair change channel chapter chart check cheese choice choose circle city class clean clear click clock close cloud
coach coast coat code coffee collect color column comedy comment common company compare concert condition connect
contact content continue cook copy corner cost country course cover craft create credit crew culture cup custom daily
dance dark data date day deal deep delete deliver depart design desk detail device dinner direct discover discuss
display divide doctor door double down draft drama dream dress drink drive duration early earth east easy edit edition
editor effect email empty end energy engine enter entry equal error event every exact example exit expert explore
express extra fabric face fact fair family famous fan farm fast favorite feature field figure file fill film filter
final find fire first fish flag floor flower folder follow food forest form forward found frame free fresh friend
front fruit full future gallery game garden gate general gift glass global goal gold good grade grand grass green grid
ground group growth guest guide half hall hand happy harbor hard hat head health heart heavy height hello help hidden
high hill history hobby holiday home horse hotel hour house icon idea image income index info inside instant island
item jacket join journal journey juice jump keep kettle key kind king kitchen label lake lamp land language large last
late latest laugh launch layer leader leaf learn leather left legal length lesson letter level library life light like
limit line list little live load local location lock log long look lost low lunch machine mail main make manage map
march mark market match material maximum meal measure media medium member memory menu message metal method middle milk
mind minute mirror mix mode model modern money month moon more morning most mother motor mountain mouse move movie
museum music name narrow nation nature near new news next night noise normal north note notice novel number ocean
offer office oil old online open option orange orbit order origin other outside oven owner pack page paint pair palace
panel paper parent park part partner party pass past path pattern pay people pepper photo piano picture piece pilot
place plain plan plant plate platform play please plot pocket poem point policy pool popular port post poster power
present press price prime print private prize product profile program project public pull pump purple push quality
quarter queen question quick quiet radio rain range rank rapid rate read ready real reason recent recipe record red
region related release remote remove rent repair repeat reply report request reserve reset rest result return review
reward rice rich ride right ring river road rock role roof room root rose round route row rule run safe salad sale
salt same sample sand save scale scene school science score screen sea search season seat second section select sell
send series service session set shade shape share sheet shelf shell shield ship shirt shoe shop short show side sign
silver simple single site size skill sky sleep small smart smile smooth snow social soft song sort sound south space
speed spice sport spring square stage stamp standard star start state station status stay step still stock stone stop
storage store storm story street string strong student studio style subject submit summary summer sun support surface
sweet swim switch symbol system table tag talk target team test text theme thing thread ticket time title today token
tool topic total touch tour tower town toy track trade train travel tree trend trip truck true type under union unit
update upper user value vendor version video view village visit voice volume wagon walk wall warm watch water wave way
weather week weight welcome west wheel white wide wild wind window wing winter wish wonder wood word work world write
year yellow young zone
""".split()

_ONSETS = "b c d f g h j k l m n p r s t v w z br cr dr fl gr kl pl pr sk sl st tr th ch sh".split()
_NUCLEI = "a e i o u a e i o ai ea ou ee".split()
_CODAS = " n r l s m t k nd rt x".split(" ")
_UNITS = "EUR USD kg km cm m hours minutes days points people pages steps percent litres".split()
_ENTRY_ROLES = ("link",) * 6 + ("button",) * 3 + ("tab", "menuitem", "checkbox", "radio")
_FIELD_PROPERTIES = {
    "textbox": (" required: False", " required: True", ""),
    "searchbox": ("", " focused: True"),
    "combobox": (
        " hasPopup: menu expanded: False",
        " hasPopup: menu required: True expanded: False",
        " expanded: False",
    ),
    "tab": ("", " selected: True", " selected: False"),
    "checkbox": (" checked: false", " checked: true"),
    "radio": (" checked: false", " checked: true"),
}


class Words:
    """Names and values drawn from one random generator; `pseudo` limits the made-up words to a list (None: any)."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def word(self) -> str:
        rng = self.rng
        if rng.random() < 0.55:
            return rng.choice(ENGLISH)
        syllables = [
            rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(_CODAS) for _ in range(rng.choice((1, 2, 2)))
        ]
        return "".join(syllables)

    def name(self, max_words: int = 2) -> str:
        words = [self.word() for _ in range(self.rng.randint(1, max_words))]
        style = self.rng.random()
        if style < 0.7:
            return " ".join(word.capitalize() for word in words)
        return " ".join(words).capitalize() if style < 0.9 else " ".join(words)

    def number(self) -> str:
        rng = self.rng
        return rng.choice(
            (str(rng.randint(0, 99)), str(rng.randint(100, 9999)), f"{rng.randint(0, 300)}.{rng.randint(0, 99):02d}")
        )

    def value(self) -> str:
        rng = self.rng
        kind = rng.random()
        if kind < 0.35:
            return f"{self.number()} {rng.choice(_UNITS)}"
        if kind < 0.5:
            return self.number()
        if kind < 0.6:
            return f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}"
        if kind < 0.7:
            return f"{rng.randint(1, 28)} {rng.choice(ENGLISH).capitalize()} {rng.randint(1500, 2030)}"
        return self.name()


@dataclasses.dataclass
class Element:
    """One tree line; `follower` is the text node printed right after an entry."""

    role: str
    name: str
    properties: str = ""
    depth: int = 1
    label: int = 0
    follower: "Element | None" = None

    def line(self) -> str:
        return "\t" * self.depth + f"[{self.label}] {self.role} {self.name!r}{self.properties}"


@dataclasses.dataclass
class Page:
    """A page and what stands on it by kind; names of operable elements are unique."""

    elements: list[Element]
    entries: list[Element]
    fields: list[Element]
    facts: list[tuple[str, str, Element]]
    lists: list[tuple[Element, Element]]

    def tree(self) -> str:
        return "\n".join(element.line() for element in self.elements)


def make_page(words: Words, num_elements: int) -> Page:
    """A page of about `num_elements` tree lines."""
    rng = words.rng
    page = Page([Element("RootWebArea", words.name(4), " focused: True", depth=0)], [], [], [], [])
    used: set[str] = set()

    def fresh(max_words: int = 2) -> str:
        while True:
            name = words.name(max_words)
            if page.entries and rng.random() < 0.2:  # names that share words make reading matter
                name = f"{rng.choice(page.entries).name.split()[0]} {words.word()}"
            if name.lower() not in used:
                used.add(name.lower())
                return name

    while len(page.elements) < num_elements:
        rng.choices((_add_entries, _add_field, _add_fact, _add_text), weights=(5, 2, 3, 2))[0](words, page, fresh)
    for label, element in enumerate(page.elements, start=1):
        element.label = label
    return page


def _properties(rng: random.Random, role: str) -> str:
    return rng.choice(_FIELD_PROPERTIES.get(role, ("",)))


def _add_entries(words: Words, page: Page, fresh: Callable[..., str]) -> None:
    """A few links or buttons, perhaps under a heading, perhaps each followed by a text."""
    rng = words.rng
    role, depth = rng.choice(_ENTRY_ROLES), rng.choice((1, 1, 2))
    followed = rng.random() < 0.35
    heading = Element("heading", fresh(), depth=depth) if rng.random() < 0.4 else None
    if heading:
        page.elements.append(heading)
    for position in range(rng.randint(1, 5)):
        entry = Element(role, fresh(), _properties(rng, role), depth)
        page.elements.append(entry)
        page.entries.append(entry)
        if heading and position == 0:
            page.lists.append((heading, entry))
        if followed:
            text = f"{words.name(1)}: {words.value()}" if rng.random() < 0.3 else words.value()
            entry.follower = Element("StaticText", text, depth=depth)
            page.elements.append(entry.follower)


def _add_field(words: Words, page: Page, fresh: Callable[..., str]) -> None:
    rng = words.rng
    role = rng.choice(("textbox", "textbox", "searchbox", "combobox", "combobox"))
    if role == "searchbox" and any(field.role == "searchbox" for field in page.fields):
        role = "textbox"
    field = Element(role, fresh(), _properties(rng, role), rng.choice((1, 1, 2)))
    page.elements.append(field)
    page.fields.append(field)
    if role == "combobox" and rng.random() < 0.5:
        for _ in range(rng.randint(2, 5)):
            page.elements.append(
                Element("option", words.name(2), rng.choice((" selected: False", "")), field.depth + 1)
            )


def _add_fact(words: Words, page: Page, fresh: Callable[..., str]) -> None:
    for _ in range(words.rng.randint(1, 4)):
        what, value = fresh(2), words.value()
        element = Element("StaticText", f"{what}: {value}", depth=words.rng.choice((1, 1, 2)))
        page.elements.append(element)
        page.facts.append((what, value, element))


def _add_text(words: Words, page: Page, fresh: Callable[..., str]) -> None:
    role = words.rng.choice(("heading", "StaticText", "StaticText", "image", "generic"))
    page.elements.append(Element(role, words.name(4), depth=words.rng.choice((1, 2))))


@dataclasses.dataclass(frozen=True)
class Question:
    """A direct instruction about a page and the reply that carries it out.

    What an instruction names stands in double quotes, what the page says in single ones, as in its tree.
    """

    instruction: str
    thought: str
    action: str

    def reply(self) -> str:
        return f"Thought: I need to {self.instruction}. {self.thought}\n\nAction: {self.action}"


def ask(words: Words, page: Page) -> Question:
    """A random question that the page can answer."""
    kinds = [(_ask_click, 5, page.entries), (_ask_word, 1, page.entries), (_ask_type, 4, page.fields)]
    kinds += [(_ask_fact, 4, page.facts), (_ask_follower, 2, [entry for entry in page.entries if entry.follower])]
    kinds += [(_ask_first, 1, page.lists)]
    kinds = [kind for kind in kinds if kind[2]]
    if not kinds:
        return Question("say done", "Everything is done.", "ANSWER; done")
    build, _, targets = words.rng.choices(kinds, weights=[kind[1] for kind in kinds])[0]
    return build(words, words.rng.choice(targets))


def _ask_click(words: Words, entry: Element) -> Question:
    verb = words.rng.choice(("open", "click", "press", "go to", "choose", "follow", "switch to", "get"))
    return Question(f'{verb} "{entry.name}"', *_click(entry))


def _ask_word(words: Words, entry: Element) -> Question:
    """The instruction gives only the last word of the name: the rest is on the page."""
    return Question(f"open the one called {entry.name.split()[-1]}", *_click(entry))


def _ask_first(words: Words, listed: tuple[Element, Element]) -> Question:
    heading, entry = listed
    return Question(f'open the first one below "{heading.name}"', *_click(entry))


def _click(entry: Element) -> tuple[str, str]:
    return f"I should click '{entry.name}'.", f"Click [{entry.label}]"


def _ask_type(words: Words, field: Element) -> Question:
    text = words.value() if words.rng.random() < 0.3 else words.name()
    thought, action = f"I should type '{text}' into '{field.name}'.", f"Type [{field.label}]; {text}"
    if field.role == "searchbox" and words.rng.random() < 0.7:
        instruction = words.rng.choice(('look for "{}"', 'query "{}"', 'seek "{}"')).format(text)
        return Question(instruction, thought, action)
    forms = ('type "{}" into "{}"', 'put "{}" into "{}"', 'set "{1}" to "{0}"', 'fill "{1}" with "{0}"')
    instruction = words.rng.choice(forms).format(text, field.name)
    return Question(instruction, thought, action)


def _ask_fact(words: Words, fact: tuple[str, str, Element]) -> Question:
    what, value, element = fact
    forms = ("tell the {}", "read the {}", "report the {}", 'tell the "{}"', "say what the {} is")
    return Question(words.rng.choice(forms).format(what), f"The page says '{element.name}'.", f"ANSWER; {value}")


def _ask_follower(words: Words, entry: Element) -> Question:
    text = entry.follower.name
    instruction = words.rng.choice(('tell what stands below "{}"', 'read what follows "{}"')).format(entry.name)
    return Question(instruction, f"The page says '{text}'.", f"ANSWER; {text.split(': ', 1)[-1]}")


@dataclasses.dataclass(frozen=True)
class Example:
    """`turns` alternate user and assistant text; every assistant text from `first_target` on is learned."""

    turns: list[str]
    first_target: int


def make_example(rng: random.Random, max_elements: int, max_links: int = 6, num_questions: int = 3) -> Example:
    """One page with its place in a chain of instructions, and further questions on the same page.

    The chain ('open "A", then put "b" into "C", then ...') has 1 to `max_links` links; those before the page's are
    already done and stand in the history with their observations elided, as `data.conversation` elides them. A thought
    first repeats the instruction it follows, then names the element.
    """
    words = Words(rng)
    page = make_page(words, rng.randint(4, max_elements))
    num_links = rng.choice((1, 1, rng.randint(1, max_links)))
    position = rng.randrange(num_links)
    links = [ask(words, page if number == position else make_page(words, 8)) for number in range(num_links)]
    opening = rng.choice(("", "Please ", "I want you to ", "Your task: "))
    ques = opening + rng.choice((", then ", " and then ", " and ", "; ")).join(link.instruction for link in links)
    replies = [link.reply() for link in links[: position + 1]]
    steps = [StepText(tree="", reply=reply) for reply in replies[:-1]] + [StepText(page.tree(), reply=replies[-1])]
    turns = [turn.text for turn in build_conversation(ques, steps, last_n=1).turns]
    first_target = len(turns) - 1
    for _ in range(num_questions - 1):
        more = ask(words, page)
        turns += [more.instruction, more.reply()]
    return Example(turns, first_target)
