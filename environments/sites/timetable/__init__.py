"""The timetable: journeys between towns, live trains, seat bookings."""
