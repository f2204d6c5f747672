package silence

import (
	"time"

	"fairlane/service/series"
)

// State is the state of a silence at a time.
type State string

// States.
const (
	Pending State = "pending" // it has not begun
	Active  State = "active"
	Expired State = "expired"
)

// Silence mutes the alerts that its matchers accept, from StartsAt until before EndsAt.
type Silence struct {
	ID               int64
	Matchers         Matchers
	StartsAt, EndsAt time.Time
	Author, Comment  string
	CreatedAt        time.Time
}

// State returns the state at a time.
func (s *Silence) State(now time.Time) State {
	switch {
	case !now.Before(s.EndsAt):
		return Expired
	case now.Before(s.StartsAt):
		return Pending
	}
	return Active
}

// Mutes reports whether the silence mutes an alert at a time.
func (s *Silence) Mutes(a *series.Alert, now time.Time) bool {
	return s.State(now) == Active && s.Matchers.Match(a)
}
