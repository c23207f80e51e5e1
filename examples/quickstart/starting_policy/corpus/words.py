"""Made-up words, names and values, drawn from one random generator."""

import random

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
_AROUND_SUBJECTS = "{}|{}|#{n}: {word}: {} ({word})|#{n} ({})|{} ({word})|{Word}: {}|#{n}: {}".split("|")
"""How a title names its subject: as trackers and boards do."""
_UNITS = "EUR USD kg km cm m hours minutes days points people pages steps percent litres".split()


class Words:
    """Names and values, as few words have them; `share_of_titles` of the names are of many words and between marks."""

    def __init__(self, rng: random.Random, share_of_titles: float = 0):
        self.rng, self.share_of_titles = rng, share_of_titles
        self._subjects = dict[str, str]()

    def word(self) -> str:
        rng = self.rng
        if rng.random() < 0.55:
            return rng.choice(ENGLISH)
        syllables = [
            rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(_CODAS) for _ in range(rng.choice((1, 2, 2)))
        ]
        return "".join(syllables)

    def name(self, max_words: int = 2) -> str:
        if self.share_of_titles and self.rng.random() < self.share_of_titles:
            return self.shown(" ".join(self.word() for _ in range(self.rng.randint(3, 7))).capitalize())
        words = [self.word() for _ in range(self.rng.randint(1, max_words))]
        style = self.rng.random()
        if style < 0.7:
            return " ".join(word.capitalize() for word in words)
        return " ".join(words).capitalize() if style < 0.9 else " ".join(words)

    def shown(self, subject: str) -> str:
        """How a page shows it: a subject of many words perhaps with a number, a kind or a state around it."""
        if not self.share_of_titles or len(subject.split()) < 3:
            return subject
        word, n = self.rng.choice(ENGLISH), self.rng.randint(1, 999)
        title = self.rng.choice(_AROUND_SUBJECTS).format(subject, n=n, word=word, Word=word.capitalize())
        self._subjects[title] = subject
        return title

    def subject(self, name: str) -> str:
        """What a task calls that which pages show as `name`."""
        return self._subjects.get(name, name)

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

    def like(self, name: str) -> str:
        """A name that begins or ends as `name` does."""
        first, last = name.split()[0], name.split()[-1]
        word = self.word()
        made = self.rng.choice(
            (f"{first} {word}", f"{word} {last}", word + last[-3:], word + last[-3:], first[:3] + word)
        )
        return made.capitalize() if name[0].isupper() else made
