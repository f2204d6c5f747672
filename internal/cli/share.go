package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fairlane/api/gen"
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

func (c *cli) showShares(cmd *cobra.Command, s *gen.Shares) error {
	window := time.Duration(s.WindowMs) * time.Millisecond
	if s.Plan == "" { // what is told of all tenants is withheld from who sees some only
		c.say(cmd, "msg.own-shares", "window", window)
	} else {
		c.say(cmd, "msg.shares", "window", window, "plan", short(s.Plan), "error", percent(s.MaxShareError), "jain", fmt.Sprintf("%.4f", s.JainIndex))
	}
	return c.print(cmd, s, func() *table { return c.shareTable(s) }, func() *table {
		if len(s.Links) == 0 {
			return nil
		}
		t := c.newTable("link", "rate>", "delivered>", "use>", "share")
		for _, l := range s.Links {
			t.add(l.Name, quantity.BitRate(l.CapacityBps), quantity.BitRate(l.DeliveredBps), percent(l.Use), bar(l.Use, 0, 1))
		}
		return t
	})
}

func (c *cli) shareTable(s *gen.Shares) *table {
	t := c.newTable("tenant", "weight>", "entitled>", "delivered>", "error>", "share")
	var most float64
	for _, x := range s.Tenants {
		most = max(most, float64(x.EntitledBps), float64(x.DeliveredBps))
	}
	for _, x := range s.Tenants {
		t.add(x.Tenant, x.Weight, quantity.BitRate(x.EntitledBps), quantity.BitRate(x.DeliveredBps), percent(x.ShareError),
			bar(float64(x.DeliveredBps), float64(x.EntitledBps), most))
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
		measure := func() error { return c.shareShow(cmd, plan, window) }
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
