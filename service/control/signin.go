package control

import (
	"time"
)

// Ends of a browser session.
const (
	SessionIdle = 12 * time.Hour // after its last request
	SessionLife = 24 * time.Hour // after its sign-in, whatever happens
)

// Valid reports whether a session has not ended by age or idleness. One that would live longer than there is was begun
// while the clock was wrong.
func (ses Session) Valid(now time.Time) bool {
	return now.Before(ses.ExpiresAt) && now.Sub(ses.SeenAt) < SessionIdle && ses.ExpiresAt.Sub(now) <= SessionLife+time.Hour
}
