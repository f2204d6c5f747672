package control

import (
	"context"
	"time"

	"fairlane/internal/phrase"
)

// A restored database may hold an older plan than the devices. Only an operator can decide which one counts. So a restore
// puts automatic repairs and clean-ups on hold until an operator starts, resumes, confirms or rolls back a rollout or
// repair on the fabric.

// Waiting returns why automatic repairs on a fabric are on hold, nil when they are not.
func (f *Fabric) Waiting() *phrase.Text {
	if !f.RepairsWait {
		return nil
	}
	return new(phrase.Of("fabric.repairs-on-hold",
		"at", f.RestoredAt.UTC().Format(time.DateTime), "fabric", f.Name))
}

// RestoredEvent returns the event that a restore of the database, by the actor by, put automatic repairs on a fabric on hold.
func (f *Fabric) RestoredEvent(by string) Event {
	return Event{At: f.RestoredAt, Fabric: f.Name, Actor: by, Kind: "fabric.repairs-wait", Subject: f.Name, Said: *f.Waiting()}
}

// Acted ends the hold of automatic repairs on a fabric because an operator acted on it.
func Acted(ctx context.Context, r Repos, f Fabric) error {
	if !f.RepairsWait {
		return nil
	}
	return r.LetRepairs(ctx, f.Name)
}
