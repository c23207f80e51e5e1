"""pretalx: the calendar of a conference, with its proposals, reviews, sessions, rooms, speakers and mails."""
