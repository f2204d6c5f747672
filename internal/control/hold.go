package control

import (
	"context"
	"fmt"
	"time"
)

// A restored database may know an older plan than the devices hold. Which of the two is wanted only people can tell, so after
// a restore no repair and no clean-up starts by itself, until somebody starts, resumes, confirms or undoes a rollout on the fabric.

// WaitingText says why nothing is repaired on a fabric by itself, "" when nothing waits.
func (f *Fabric) WaitingText() string {
	if !f.RepairsWait {
		return ""
	}
	return fmt.Sprintf("the database was restored at %s UTC: repairs wait until somebody starts or resumes a rollout or a repair on fabric %s",
		f.RestoredAt.UTC().Format(time.DateTime), f.Name)
}

// RestoredEvent tells that nothing is repaired on a fabric by itself since the database was restored.
func (f *Fabric) RestoredEvent(by string) Event {
	return Event{At: f.RestoredAt, Fabric: f.Name, Actor: by, Kind: "fabric.repairs-wait", Subject: f.Name, Message: f.WaitingText()}
}

// acted notes that somebody acted on a fabric.
func acted(ctx context.Context, r Repos, f Fabric) error {
	if !f.RepairsWait {
		return nil
	}
	return r.LetRepairs(ctx, f.Name)
}
