package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/progress"
	"fairlane/internal/texttable"
)

const (
	// pollEvery is the pause between reads of a running rollout.
	pollEvery = 250 * time.Millisecond
	// endsWithin is how long to wait for the end of a confirmed rollout.
	endsWithin = 5 * time.Second
	// quietPolls is the number of reads without a message after which a watch reports the progress.
	quietPolls = int(5 * time.Second / pollEvery)
	// mostNamed is the maximum number of failed devices that a watch names.
	mostNamed = 10
)

// watching is a watch of one rollout.
type watching struct {
	c      *cli
	cmd    *cobra.Command
	client *apiclient.ClientWithResponses
	fabric string
	id     int64
	cursor *string
	line   *progress.Line
	silent int // reads since the last message
	failed int // number of devices whose failure was reported
	far    string
}

// follow reports the progress of a rollout on standard error, and prints the rollout at its end. It tolerates a service
// that does not answer for a while, and fails if the rollout did not succeed.
func (c *cli) follow(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, id int64) error {
	if _, err := c.getRollout(cmd.Context(), client, fabric, id); err != nil {
		return err // only later reads are repeated
	}
	w := &watching{c: c, cmd: cmd, client: client, fabric: fabric, id: id, line: progress.On(cmd.ErrOrStderr())}
	defer w.line.Clear()
	for {
		// The state is read before the events: if it is final, no event is missed.
		var ro *gen.Rollout
		err := c.patiently(cmd, func() (err error) { ro, err = c.getRollout(cmd.Context(), client, fabric, id); return err })
		if err != nil {
			return err
		}
		w.line.Clear()
		if err := c.patiently(cmd, w.news); err != nil {
			return err
		}
		if ro.State != gen.RolloutStateRunning {
			return w.ended(ro)
		}
		w.progress(ro)
		if err := pause(cmd.Context(), pollEvery); err != nil {
			w.line.Clear()
			c.say(cmd, "msg.rollout-goes-on", "id", id)
			return err
		}
	}
}

// ended reports the end of the rollout with its result, once.
func (w *watching) ended(ro *gen.Rollout) error {
	c := w.c
	if more := w.failed - mostNamed; more > 0 && !c.rows.all {
		c.say(w.cmd, "msg.rollout-more-failed", "count", more)
	}
	bad := ro.State != gen.RolloutStateSucceeded
	if bad || !c.rows.quiet {
		c.printWrapped(w.cmd, c.t("msg.rollout-ended", "id", w.id, "state", c.t("state."+string(ro.State)), "result", clean(c.texts.Either(ro.Result, ro.ResultSaid))))
	}
	if ro.State == gen.RolloutStateRefused {
		c.say(w.cmd, "msg.rollout-refused-hint", "fabric", w.fabric, "plan", short(ro.Plan))
	}
	if bad || !c.rows.quiet {
		if err := w.show(ro); err != nil {
			return err
		}
	}
	if bad {
		return errors.New(c.t("err.not-succeeded", "id", w.id))
	}
	return nil
}

// show prints the rollout without the result, which was just reported; of many devices only the faulty ones, unless all
// are requested.
func (w *watching) show(ro *gen.Rollout) error {
	c := w.c
	if c.output != "table" {
		return c.showRollout(w.cmd, ro)
	}
	if ro.State != gen.RolloutStateSucceeded {
		c.sayStates(w.cmd, ro)
	}
	row := *ro
	row.Result = ""
	return c.printTables(w.cmd, []func() *table{func() *table { return c.rolloutTable([]gen.Rollout{row}).without(c.t("col.result")) }, func() *table {
		few := len(ro.Devices) <= mostRows
		kept := *ro
		kept.Devices = nil
		for _, d := range ro.Devices {
			if strings.Contains(ro.Result, d.Name+": "+cmdline.OrZero(d.Error)) {
				d.Error, d.ErrorSaid = nil, nil // the result, just printed, contains it
			}
			if c.rows.all || few || d.State != "pending" && stateRank(d.State) > 0 {
				kept.Devices = append(kept.Devices, d)
			}
		}
		return c.rolloutDevices(&kept)
	}})
}

// news reports the events after the cursor, and stores the new cursor even if it fails.
func (w *watching) news() error {
	for {
		p := &gen.ListRolloutEventsParams{Limit: pageSize(), Cursor: w.cursor}
		list, err := found[gen.EventList](w.c)(w.client.ListRolloutEventsWithResponse(w.cmd.Context(), w.fabric, w.id, p))
		if err != nil {
			return err
		}
		for i := range list.Items {
			w.event(&list.Items[i])
		}
		if w.cursor = &list.LastCursor; list.NextCursor == nil {
			return nil
		}
	}
}

// event prints one event, except the end, which the watch itself reports, and the state changes of single devices.
func (w *watching) event(e *gen.Event) {
	c := w.c
	switch {
	case isEnd(e.Kind):
		return
	case e.Kind == "device.state" && !c.rows.all:
		if !reportsFault(e) {
			return
		}
		if w.failed++; w.failed > mostNamed {
			return
		}
	case c.rows.quiet:
		return
	}
	w.silent = 0
	c.printWrapped(w.cmd, fmt.Sprintf("%s  %s", e.At.Format("15:04:05.000"), clean(c.texts.Either(e.Message, e.Said))))
	if e.Kind == "rollout.confirming" {
		c.say(w.cmd, "msg.rollout-confirm-hint", "id", w.id)
	}
}

// isEnd reports whether an event is the end of a rollout.
func isEnd(kind string) bool {
	state, of := strings.CutPrefix(kind, "rollout.")
	return of && state != string(gen.RolloutStateRunning) && gen.RolloutState(state).Valid()
}

// reportsFault reports whether a device's event reports a fault.
func reportsFault(e *gen.Event) bool {
	b, err := json.Marshal(e.Data)
	if err != nil {
		return true
	}
	var data struct{ To, Error string }
	if err := json.Unmarshal(b, &data); err != nil {
		return true
	}
	return data.Error != "" || data.To == "failed" || data.To == "unsupported"
}

// progress shows the progress on a terminal; elsewhere it reports it only after a while without events.
func (w *watching) progress(ro *gen.Rollout) {
	if w.line.Shown() {
		w.line.Show(w.c.rolloutProgress(ro))
		return
	}
	if w.silent++; w.silent < quietPolls || w.c.rows.quiet || len(ro.Devices) == 0 {
		return
	}
	states := make([]string, len(ro.Devices))
	for i, d := range ro.Devices {
		states[i] = deviceStateKey(ro.State, d.State)
	}
	if far := w.c.counted(states); far != w.far {
		w.far, w.silent = far, 0
		w.c.say(w.cmd, "msg.rollout-states", "count", len(states), "states", far)
	}
}

// rolloutProgress returns the progress of a running rollout, in one line.
func (c *cli) rolloutProgress(ro *gen.Rollout) string {
	left := 0
	for _, d := range ro.Devices {
		switch d.State {
		case "unknown", "pending", "applying", "verifying":
			left++
		}
	}
	return c.t("msg.rollout-progress", "id", ro.ID, "phase", c.t("phase."+string(ro.Phase)), "done", len(ro.Devices)-left, "total", len(ro.Devices))
}

// printWrapped prints a text that may be long on standard error: at a terminal at most three lines, unless all is requested.
func (c *cli) printWrapped(cmd *cobra.Command, text string) {
	w := cmd.ErrOrStderr()
	if !c.rows.all {
		text = texttable.Wrap(text, "  ", texttable.Columns(w, c.getenv), mostLines)
	}
	fmt.Fprintln(w, text)
}

// pause waits, or returns early when the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
