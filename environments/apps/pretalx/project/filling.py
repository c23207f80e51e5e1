"""Fills a new conference with content, run by the Python that pretalx is in."""

import datetime
import uuid

from django_scopes import scope, scopes_disabled
from pretalx.common.models.settings import GlobalSettings
from pretalx.event.models import Event, Organiser, Team
from pretalx.person.models import SpeakerProfile, User
from pretalx.schedule.models import Room, TalkSlot
from pretalx.submission.models import Review, ReviewScore, Submission, SubmissionType, Tag, Track

BEGUN = datetime.datetime(2025, 10, 6, 8, 0, tzinfo=datetime.UTC)


def fill(content):
    """Everything that `content` names; the agent's user."""
    GlobalSettings().settings.set("instance_identifier", str(uuid.UUID(int=7)))
    GlobalSettings().settings.set("update_check_enabled", False)
    agent = _user(content["agent"], "ANARVZ")
    organiser = Organiser.objects.create(name="Orchard Society", slug="society")
    with scopes_disabled():
        event = _event(content, organiser)
    with scope(event=event):
        event.build_initial_data()
        event.cfp.deadline = BEGUN + datetime.timedelta(days=60)
        event.cfp.save()
        event.review_phases.filter(position=0).update(is_active=True, start=event.cfp.deadline)
        rights = {"can_change_submissions": True, "can_change_event_settings": True}
        _team(event, "Programme", [agent], is_reviewer=True, **rights)
        _team(event, "Owners", [_user("Olga Prins", "QLGAPR")], can_change_teams=True, can_create_events=True, **rights)
        reviewers = {name: _user(name, f"RVW{number}") for number, name in enumerate(content["reviewers"])}
        _team(event, "Reviewers", reviewers.values(), is_reviewer=True)
        known = _frame(event, content)
        known["speakers"] = {about["name"]: _speaker(event, about) for about in content["speakers"]}
        for number, about in enumerate(content["proposals"]):
            when = BEGUN + datetime.timedelta(hours=number)
            _propose(event, about, when, known, reviewers)
        event.wip_schedule.freeze(content["version"], notify_speakers=False, comment="The first version.")
    return agent


def _event(content, organiser):
    dates = [datetime.date.fromisoformat(day) for day in content["days"]]
    event = Event.objects.create(
        name=content["event"],
        slug=content["slug"],
        organiser=organiser,
        is_public=True,
        date_from=dates[0],
        date_to=dates[-1],
        timezone="UTC",
        email="office@orchard.example",
        locale_array="en",
        content_locale_array="en",
        locale="en",
        landing_page_text="Three days about what grows on trees.",
    )
    return event


def _frame(event, content):
    """Rooms, tracks, kinds of sessions and tags."""
    kinds = {name: _kind(event, name, minutes) for name, minutes in content["types"].items()}
    default = event.cfp.default_type
    event.cfp.default_type = kinds["Talk"]
    event.cfp.save()
    default.delete()
    colors = content["colors"]
    return {
        "types": kinds,
        "rooms": {
            name: Room.objects.create(event=event, name=name, capacity=capacity, position=number)
            for number, (name, capacity) in enumerate(content["rooms"].items())
        },
        "tracks": {
            name: Track.objects.create(event=event, name=name, color=colors[name], position=number)
            for number, name in enumerate(content["tracks"])
        },
        "tags": {
            name: Tag.objects.create(event=event, tag=name, description=text, color=colors[name])
            for name, text in content["tags"].items()
        },
    }


def _kind(event, name, minutes):
    return SubmissionType.objects.create(event=event, name=name, default_duration=minutes)


def _user(name, code):
    address = f"{name.lower().replace(' ', '.')}@orchard.example"
    return User.objects.create_user(name=name, email=address, code=code, locale="en", timezone="UTC")


def _team(event, name, members, **rights):
    team = Team.objects.create(organiser=event.organiser, name=name, **rights)
    team.limit_events.add(event)
    team.members.set(members)


def _speaker(event, about):
    user = _user(about["name"], about["code"])
    SpeakerProfile.objects.create(user=user, event=event, biography=about["biography"], has_arrived=about["arrived"])
    return user


def _propose(event, about, when, known, reviewers):
    proposal = Submission.objects.create(
        event=event,
        code=about["code"],
        title=about["title"],
        submission_type=known["types"][about["type"]],
        track=known["tracks"][about["track"]],
        abstract=about["abstract"],
        invitation_token=f"invite{about['code']}",
        review_code=f"review{about['code']}",
    )
    Submission.all_objects.filter(pk=proposal.pk).update(created=when)
    proposal.speakers.set([known["speakers"][name] for name in about["speakers"]])
    proposal.tags.set([known["tags"][name] for name in about["tags"]])
    for review in about["reviews"]:
        _review(event, proposal, reviewers[review["by"]], review)
    proposal._set_state(about["state"], force=True)
    proposal.send_state_mail()  # into the outbox, if there is one for this state
    if about["room"]:
        start = datetime.datetime.fromisoformat(f"{about['day']}T{about['time']}:00+00:00")
        end = start + datetime.timedelta(minutes=proposal.get_duration())
        slot = TalkSlot.objects.filter(submission=proposal, schedule=event.wip_schedule)
        slot.update(room=known["rooms"][about["room"]], start=start, end=end)


def _review(event, proposal, user, about):
    review = Review.objects.create(submission=proposal, user=user, text=about["text"])
    review.scores.set(ReviewScore.objects.filter(category__event=event, label=about["label"]))
    review.save(update_score=True)
