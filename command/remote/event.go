package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

const (
	// maxEvent is the maximum length of a line in a stream, in bytes.
	maxEvent = 1 << 20
	// streamRetry is the pause before a stream without events is opened again.
	streamRetry = time.Second
)

// eventFlags are filters of events.
type eventFlags struct {
	follow         bool
	after, rollout int64
	kind           string
	count          int
}

func (c *cli) fabricEvents() *cobra.Command {
	var f eventFlags
	cmd := c.verb("fabric", "events", "  fairlane fabric events --fabric lab\n  fairlane fabric events --follow --kind device.\n  fairlane fabric events --follow --after 0 --rollout 7 -o json",
		cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
			if f.follow {
				return c.eventsFollow(cmd, &f)
			}
			return c.eventsList(cmd, &f)
		})
	fl := cmd.Flags()
	fl.BoolVar(&f.follow, "follow", false, c.t("flag.follow"))
	fl.Int64Var(&f.after, "after", -1, c.t("flag.after"))
	fl.Int64Var(&f.rollout, "rollout", 0, c.t("flag.event-rollout"))
	fl.StringVar(&f.kind, "kind", "", c.t("flag.event-kind"))
	fl.IntVar(&f.count, "count", 0, c.t("flag.count"))
	c.long("", cmd)
	return cmd
}

// takes reports whether an event passes the filters.
func (f *eventFlags) takes(e *gen.Event) bool {
	return e.ID > f.after && strings.HasPrefix(e.Kind, f.kind) && (f.rollout == 0 || cmdline.OrZero(e.Rollout) == f.rollout)
}

func (c *cli) eventsList(cmd *cobra.Command, f *eventFlags) error {
	client, name, err := c.pick(cmd)
	if err != nil {
		return err
	}
	list := func(cursor *string) (*page[gen.Event], error) {
		list, err := found[gen.EventList](c)(client.ListEventsWithResponse(cmd.Context(), name, &gen.ListEventsParams{Limit: pageSize(), Cursor: cursor}))
		if err != nil {
			return nil, err
		}
		return &page[gen.Event]{slices.DeleteFunc(list.Items, func(e gen.Event) bool { return !f.takes(&e) }), list.NextCursor}, nil
	}
	most := f.count
	if most <= 0 {
		most = math.MaxInt
	}
	all, err := firstOf(most, list)
	if err != nil {
		return err
	}
	return c.print(cmd, all, func() *table {
		t := c.newTable("time", "actor", "event", "message")
		t.latest = true
		for _, e := range all {
			t.add(e.At.Format(timeFormat), e.Actor, e.Kind, c.texts.Either(e.Message, e.Said))
		}
		return t
	})
}

// eventsFollow prints events as they occur, one on each line, until it is interrupted or the requested number is
// printed. It resumes a broken stream after the last event.
func (c *cli) eventsFollow(cmd *cobra.Command, f *eventFlags) error {
	_, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	client, err := c.connect(&http.Client{}) // without a time limit, since a stream does not end
	if err != nil {
		return err
	}
	s := &eventStream{c: c, client: client, fabric: fabric, flags: f, last: f.after}
	for began := false; ; {
		printed := s.printed
		err := s.read(cmd, func() { began = true })
		var problem *apiclient.ProblemError
		switch {
		case errors.Is(err, errEnough), errors.Is(cmd.Context().Err(), context.Canceled):
			return nil // the expected end
		case errors.As(err, &problem) && problem.Status < http.StatusInternalServerError, err != nil && !began:
			return err
		}
		c.say(cmd, "msg.stream-broke")
		if s.printed > printed {
			continue // the stream worked until it broke
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(streamRetry):
		}
	}
}

// eventStream is a position in the events of a fabric.
type eventStream struct {
	c       *cli
	client  *apiclient.ClientWithResponses
	fabric  string
	flags   *eventFlags
	last    int64 // the last printed event; below 0: none
	printed int
}

// read prints events until the stream breaks, which is no error, or the requested number is printed.
func (s *eventStream) read(cmd *cobra.Command, began func()) error {
	p := &gen.StreamEventsParams{Rollout: given(s.flags.rollout), Kind: given(s.flags.kind)}
	if s.last >= 0 {
		p.LastEventID = &s.last
	}
	r, err := s.client.StreamEvents(cmd.Context(), s.fabric, p)
	if err != nil {
		return s.c.judge(nil, err)
	}
	defer func() { _ = r.Body.Close() }() // only read from
	if r.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxEvent))
		if err != nil {
			return err
		}
		return apiclient.Check(r.StatusCode, body)
	}
	began()
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue // comments, and fields that the data repeats
		}
		var e gen.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("read an event of the stream: %w", err)
		}
		s.last = e.ID
		if err := s.c.printEvent(cmd, e); err != nil {
			return err
		}
		if s.printed++; s.printed == s.flags.count {
			return errEnough
		}
	}
	return nil
}

// printEvent prints one event: a line of text or of JSON, or a document of YAML.
func (c *cli) printEvent(cmd *cobra.Command, e gen.Event) error {
	out := cmd.OutOrStdout()
	if c.output == "table" {
		_, err := fmt.Fprintf(out, "%s  %s  %s  %s\n", e.At.Format(timeFormat), clean(e.Actor), e.Kind, clean(c.texts.Either(e.Message, e.Said)))
		return err
	}
	return c.printLine(out, e)
}
