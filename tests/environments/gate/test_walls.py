"""Walls and pages that only look like one, all in words of our own."""

import pytest

from environments.browser.walls import describe_wall


def tree(title: str, *lines: str) -> str:
    return "\n".join([f"[1] RootWebArea '{title}'", *(f"\t[{n}] {line}" for n, line in enumerate(lines, 2))])


WALLS = {
    "challenge": (
        403,
        tree("Just a moment...", "heading 'shop.test'", "StaticText 'Performing security verification'"),
    ),
    "challenge at 200": (200, tree("Just a moment...", "StaticText 'Verify you are human by ticking the box'")),
    "challenge with a frame": (
        503,
        tree("shop.test", "Iframe 'Widget containing a security challenge'", "StaticText 'Ray ID: 8f1'"),
    ),
    "browser check": (503, tree("shop.test", "StaticText 'Checking your browser before you go on'")),
    "connection check": (
        403,
        tree("Just a moment…", "StaticText 'shop.test needs to review the security of your connection'"),
    ),
    "blocked by a firewall": (
        403,
        tree(
            "Attention Required! | Wall",
            "heading 'Sorry, you have been blocked'",
            "StaticText 'Ray ID: 71'",
            "link 'Wall'",
        ),
    ),
    "refused at the edge": (
        403,
        tree(
            "Access Denied",
            "StaticText 'You don\\'t have permission to access \"/x\" on this server.'",
            "StaticText 'Reference #18.6f'",
        ),
    ),
    "refused at 200": (200, tree("Access Denied", "heading 'Access Denied'")),
    "bot suspected": (
        200,
        tree("Pardon Our Interruption", "StaticText 'Something made us think you were a bot.'", "button 'Go on'"),
    ),
    "a frame that is refused": (
        200,
        tree("", "Iframe 'shop.test'", "StaticText 'Request unsuccessful. Incapsula incident ID: 12-34'"),
    ),
    "only its title": (200, tree("Pardon Our Interruption")),
    "press and hold": (
        403,
        tree("Access to this page has been denied.", "StaticText 'Press & Hold to confirm you are a human'"),
    ),
    "letters": (
        200,
        tree(
            "Robot Check",
            "heading 'Enter the characters you see below'",
            "textbox 'Type characters'",
            "button 'Continue'",
            "link 'Conditions'",
            "link 'Another image'",
        ),
    ),
    "traffic": (
        429,
        tree(
            "https://search.test/x",
            "StaticText 'We saw unusual traffic from your network'",
            "checkbox 'I\\'m not a robot'",
            "link 'Why?'",
        ),
    ),
    "slider": (
        200,
        tree("Security verification", "StaticText 'Slide to complete the picture'", "slider 'Slide to fit'"),
    ),
    "widget alone": (
        200,
        tree(
            "shop.test", "RootWebArea 'reCAPTCHA'", "StaticText 'Please confirm you are not a robot'", "button 'Send'"
        ),
    ),
    "too many requests": (
        429,
        tree("Too Many Requests", "StaticText 'You have sent too many requests. Try again in 60 seconds.'"),
    ),
    "an address that was barred": (403, tree("Blocked", "StaticText 'Your IP address has been blocked'")),
    "a support number": (200, tree("Request blocked", "StaticText 'Support ID: 4711'")),
    "an error of a CDN": (
        403,
        tree(
            "ERROR",
            "heading '403 ERROR'",
            "StaticText 'The request could not be satisfied. Request blocked.'",
            "StaticText 'Request ID: aB1'",
        ),
    ),
    "basic login": (401, tree("Members", "heading 'Members only'")),
    "proxy login": (407, tree("", "StaticText 'Log in'")),
    "cookies": (403, tree("Just a moment...", "StaticText 'Enable JavaScript and cookies to continue'")),
}
PAGES = {
    "own 403": (403, tree("Club", "heading 'Only admins of this group may edit it'", "link 'Back'")),
    "own 403 without a link": (403, tree("Club", "heading 'You may not edit this group'")),
    "own 403 of a forum": (
        403,
        tree(
            "Access denied | Forum",
            "StaticText 'You are not authorized to see this page.'",
            "link 'Home'",
            "link 'Log in'",
        ),
    ),
    "own 401 with a form": (401, tree("Log in", "textbox 'Name'", "textbox 'Password'", "button 'Log in'")),
    "own 404": (404, tree("Not found", "StaticText 'There is no such page'")),
    "own 404 that says blocked": (404, tree("Profile", "StaticText 'This user has blocked you or does not exist'")),
    "own 429": (429, tree("Slow down", "StaticText 'You may post again in ten minutes'", "link 'Back to the topic'")),
    "503 that asks to come again": (503, tree("Maintenance", "StaticText 'We are back soon; try again in 5 minutes'")),
    "checklist": (200, tree("Security checklist: before you travel", "StaticText 'Passport'", "link 'Next part'")),
    "song": (200, tree("Just a Moment (song)", "StaticText 'First line'")),
    "song by its bare name": (200, tree("Just a Moment", "heading 'Just a Moment'", "StaticText 'A line of it'")),
    "film": (200, tree("Access Denied", "heading 'Access Denied'", "StaticText 'A film of 1999 about a bank.'")),
    "film about robots": (200, tree("The Robots: a film", "StaticText 'Are you a robot? asks the hero'")),
    "toy": (
        200,
        tree("Robot Check", "heading 'Robot Check, a game for two'", "StaticText '12 euros'", "button 'Add to cart'"),
    ),
    "help": (
        200,
        tree(
            "Help: sign-in problems",
            "StaticText 'Sometimes you are told: please solve this captcha, for unusual traffic from your computer'",
            "link 'More'",
        ),
    ),
    "help without a link": (200, tree("Why a puzzle?", "StaticText 'You may be asked to confirm that you are human'")),
    "what a captcha is": (
        200,
        tree(
            "Captcha", "StaticText 'It asks you to prove you are human: enter the characters you see.'", "link 'Home'"
        ),
    ),
    "docs of a captcha": (
        200,
        tree(
            "Captcha widget",
            "heading 'Widget'",
            "StaticText 'Verify you are human is shown to visitors'",
            *["link 'Part'"] * 6,
        ),
    ),
    "demo of a captcha": (
        200,
        tree("Demo", "textbox 'Comment'", "RootWebArea 'reCAPTCHA'", "checkbox 'I\\'m not a robot'", "button 'Send'"),
    ),
    "login with a captcha": (
        200,
        tree("Log in", "textbox 'Name'", "textbox 'Password'", "Iframe 'hCaptcha'", "checkbox 'Verify you are human'"),
    ),
    "shop of captcha stickers": (200, tree("Captcha", "StaticText 'Stickers, 3 euros'", "link 'Buy'", "button 'Like'")),
    "order with a number": (200, tree("Your order", "StaticText 'Reference #18 is on its way'", "link 'Track'")),
    "status page": (
        200,
        tree("Status", "StaticText 'Some clients have been sent too many requests errors'", "link 'History'"),
    ),
    "forum": (200, tree("Forum", "link 'How do I verify you are human?'", *["link 'Topic'"] * 30)),
    "permissions of a file": (
        200,
        tree("Files", "StaticText 'You do not have permission to access report.pdf'", "link 'Ask for it'"),
    ),
    "article": (
        200,
        tree(
            "Too many requests: what 429 means",
            "StaticText 'You have sent too many requests, says the server'",
            "link 'Next'",
        ),
    ),
}


@pytest.mark.parametrize("name", WALLS)
def test_walls_are_known(name: str) -> None:
    status, text = WALLS[name]
    assert describe_wall(status, text, text.count("\n") + 1)


@pytest.mark.parametrize("name", PAGES)
def test_pages_that_use_the_same_words_are_pages(name: str) -> None:
    status, text = PAGES[name]
    assert not describe_wall(status, text, text.count("\n") + 1)


def test_a_bare_refusal_counts_where_the_task_begins() -> None:
    """Later the agent may go back; at first there is nothing to go back to."""
    bare = tree("Oops", "heading 'No'")
    for status in (403, 429, 451):
        assert f"HTTP {status}" in describe_wall(status, bare, 2, is_start=True) and not describe_wall(status, bare, 2)
    assert not describe_wall(403, tree("Club", "link 'Join'"), 2, is_start=True)
    assert not describe_wall(200, bare, 2, is_start=True)


def test_a_long_page_is_none() -> None:
    assert not describe_wall(*WALLS["challenge"], 90)
