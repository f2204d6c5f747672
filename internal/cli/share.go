package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
)

func (c *cli) share() *cobra.Command {
	var plan string
	var window, every time.Duration
	var watch bool
	show := c.verb("share", "show", "  fairlane share show --window 200ms --watch", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		switch {
		case window < time.Millisecond || window > time.Minute:
			return c.usage("err.window", "found", window)
		case every < 100*time.Millisecond:
			return c.usage("err.every", "found", every)
		case watch:
			return c.shareWatch(cmd, plan, window, every)
		}
		return c.shareShow(cmd, plan, window)
	})
	f := show.Flags()
	f.StringVar(&plan, "plan", "", c.t("flag.plan-default"))
	f.DurationVar(&window, "window", 100*time.Millisecond, c.t("flag.window"))
	f.BoolVar(&watch, "watch", false, c.t("flag.watch"))
	f.DurationVar(&every, "every", 2*time.Second, c.t("flag.every"))
	return c.noun("share", append(c.shareKept(), show)...)
}

func (c *cli) shareShow(cmd *cobra.Command, plan string, window time.Duration) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	ms := window.Milliseconds()
	s, err := found[gen.Shares](c)(client.GetSharesWithResponse(cmd.Context(), fabric, &gen.GetSharesParams{WindowMs: &ms, Plan: given(plan)}))
	if err != nil {
		return err
	}
	return c.showShares(cmd, s)
}

// incompleteError reports that a part of an answer was not measured. It ends a command with exit code 1, in every output format.
type incompleteError struct{ text string }

// Error returns how many tenants and links were not measured.
func (e *incompleteError) Error() string { return e.text }

// showShares prints a measurement, and fails with *incompleteError when it lacks a tenant or a link.
func (c *cli) showShares(cmd *cobra.Command, s *gen.Shares) error {
	window := time.Duration(s.WindowMs) * time.Millisecond
	tenants, links := notMeasured(s)
	switch {
	case s.Plan == "": // a caller who sees some tenants only gets no figures over all
		c.say(cmd, "msg.own-shares", "window", window)
	case len(s.Tenants) == 0:
		c.say(cmd, "msg.shares-none", "plan", short(s.Plan))
	default:
		c.say(cmd, "msg.shares", "window", window, "plan", short(s.Plan), "measured", len(s.Tenants)-tenants, "tenants", len(s.Tenants), "error", percentOrDash(s.MaxShareError), "jain", jainOrDash(s.JainIndex))
	}
	c.sayAtSenders(cmd, s)
	if s.Coverage != nil && *s.Coverage < fullCoverage {
		c.say(cmd, "msg.coverage", "coverage", percent(*s.Coverage))
	}
	if l := s.CongestionControl; l != nil {
		c.say(cmd, "loop."+string(l.State), "text", clean(c.texts.Told(l.Text, l.Said)))
	}
	err := c.print(cmd, s, func() *table { return c.shareTable(s) }, func() *table { return c.linkTable(s) })
	if err == nil && tenants+links > 0 {
		err = &incompleteError{c.t("err.incomplete", "tenants", tenants, "of", len(s.Tenants), "links", links, "of-links", len(s.Links))}
	}
	return err
}

// sayAtSenders names the tenants that are measured at the ports they send from.
func (c *cli) sayAtSenders(cmd *cobra.Command, s *gen.Shares) {
	var at []string
	var most *int64
	for _, x := range s.Tenants {
		if orZero(x.AtSenders) {
			at = append(at, x.Tenant)
			if x.AmbiguousBps != nil && *x.AmbiguousBps >= orZero(most) {
				most = x.AmbiguousBps
			}
		}
	}
	switch names := strings.Join(at, ", "); {
	case len(at) > 0 && most != nil:
		c.say(cmd, "msg.shares-at-senders", "tenants", names, "rate", measuredRate(most))
	case len(at) > 0:
		c.say(cmd, "msg.shares-at-senders-unread", "tenants", names)
	}
}

// fullCoverage is the coverage from which it is not reported.
const fullCoverage = 0.99

// notMeasured counts the tenants and links that were not measured.
func notMeasured(s *gen.Shares) (tenants, links int) {
	for _, x := range s.Tenants {
		if x.DeliveredBps == nil {
			tenants++
		}
	}
	for _, l := range s.Links {
		if l.DeliveredBps == nil {
			links++
		}
	}
	return tenants, links
}

// jainOrDash is an index that may not have been measured.
func jainOrDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.4f", *v)
}

// measuredRate is a rate that may not have been measured.
func measuredRate(v *int64) string {
	if v == nil {
		return "-"
	}
	return quantity.BitRate(*v).String()
}

// barOr draws a measured part as bar does; of an unmeasured one it states the reason.
func (c *cli) barOr(part *int64, entitled, whole float64, problem *string, said *phrase.Text) string {
	if part == nil {
		return c.t("msg.not-measured", "problem", c.texts.Told(orZero(problem), said))
	}
	return bar(float64(*part), entitled, whole)
}

func (c *cli) linkTable(s *gen.Shares) *table {
	if len(s.Links) == 0 {
		return nil
	}
	t := c.newTable("link", "rate>", "delivered>", "use>", "share")
	for _, l := range s.Links {
		t.add(l.Name, quantity.BitRate(l.CapacityBps), measuredRate(l.DeliveredBps), percentOrDash(l.Use), c.barOr(l.DeliveredBps, 0, float64(l.CapacityBps), l.Problem, l.Said))
	}
	return t
}

func (c *cli) shareTable(s *gen.Shares) *table {
	t := c.newTable("tenant", "weight>", "entitled>", "delivered>", "error>", "share")
	var most float64
	for _, x := range s.Tenants {
		most = max(most, float64(x.EntitledBps), float64(orZero(x.DeliveredBps)))
	}
	for _, x := range s.Tenants {
		t.add(x.Tenant, x.Weight, quantity.BitRate(x.EntitledBps), measuredRate(x.DeliveredBps), percentOrDash(x.ShareError),
			c.barOr(x.DeliveredBps, float64(x.EntitledBps), most, x.Problem, x.Said))
	}
	return t
}

// shareWatch measures until the context ends, which is how it is meant to end.
func (c *cli) shareWatch(cmd *cobra.Command, plan string, window, every time.Duration) error {
	clear := onTerminal(cmd.OutOrStdout()) && c.output == "table"
	for first := true; ; first = false {
		if clear {
			fmt.Fprint(cmd.OutOrStdout(), "\x1b[H\x1b[2J") // cursor home, clear screen
		}
		measure := func() error {
			err := c.shareShow(cmd, plan, window)
			if incomplete := new(incompleteError); errors.As(err, &incomplete) { // the next one may be complete
				fmt.Fprintln(cmd.ErrOrStderr(), incomplete)
				return nil
			}
			return err
		}
		var err error
		if first {
			err = measure()
		} else {
			err = c.patiently(cmd, measure)
		}
		if err == nil {
			err = pause(cmd.Context(), every)
		}
		if errors.Is(cmd.Context().Err(), context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// onTerminal reports whether w is a character device.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && terminal(f)
}

func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
