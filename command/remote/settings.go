package remote

import (
	"errors"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

// settingsFlags are the settings of the service as flags. Only given flags have an effect.
type settingsFlags struct {
	interval, window, keepShares, keepTasks, limit int
	reset                                          bool
}

// fill copies the given flags into the settings and reports whether there were any.
func (f *settingsFlags) fill(cmd *cobra.Command, s *gen.SettingsUpdate) bool {
	t := &taker{cmd: cmd}
	take(t, "share-interval", &s.Shares.IntervalS, &f.interval)
	take(t, "share-window", &s.Shares.WindowMs, &f.window)
	take(t, "share-keep", &s.Shares.Keep, &f.keepShares)
	take(t, "task-keep", &s.Tasks.Keep, &f.keepTasks)
	take(t, "task-limit", &s.Tasks.Limit, &f.limit)
	return t.any
}

func (c *cli) settings() *cobra.Command {
	var f settingsFlags
	set := c.verb("settings", "set", "  fairlane settings set --share-interval 60\n  fairlane settings set --reset --dry-run", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.settingsSet(cmd, &f) })
	fl := set.Flags()
	fl.IntVar(&f.interval, "share-interval", 0, c.t("flag.share-interval"))
	fl.IntVar(&f.window, "share-window", 100, c.t("flag.share-window"))
	fl.IntVar(&f.keepShares, "share-keep", 0, c.t("flag.share-keep"))
	fl.IntVar(&f.keepTasks, "task-keep", 0, c.t("flag.task-keep"))
	fl.IntVar(&f.limit, "task-limit", 0, c.t("flag.task-limit"))
	fl.BoolVar(&f.reset, "reset", false, c.t("flag.reset"))
	c.writes(set)
	c.matches(set)
	return c.noun("settings", set, c.verb("settings", "doctor", "  fairlane settings doctor", cobra.NoArgs, c.settingsDoctor), c.verb("settings", "show", "  fairlane settings show", cobra.NoArgs, c.settingsShow))
}

func (c *cli) settingsShow(cmd *cobra.Command, _ []string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	s, err := found[gen.Settings](c)(client.GetSettingsWithResponse(cmd.Context()))
	if err != nil {
		return err
	}
	return c.print(cmd, s, func() *table { return c.fieldTable(s) })
}

// settingsSet changes the given settings against the version that it read.
func (c *cli) settingsSet(cmd *cobra.Command, f *settingsFlags) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	r, err := client.GetSettingsWithResponse(cmd.Context())
	now, err := found[gen.Settings](c)(r, err)
	if err != nil {
		return err
	}
	next := gen.SettingsUpdate{Shares: &now.Shares, Tasks: &now.Tasks}
	if f.reset {
		next = gen.SettingsUpdate{Shares: &gen.ShareSettings{}, Tasks: &gen.TaskSettings{}}
	}
	if !f.fill(cmd, &next) && !f.reset {
		return c.usage("err.no-change")
	}
	match := c.ifMatch(r.HTTPResponse.Header.Get("ETag"))
	s, err := found[gen.Settings](c)(client.PutSettingsWithResponse(cmd.Context(), &gen.PutSettingsParams{DryRun: given(c.dry), IfMatch: match}, next))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.settings-set", "version", s.Version)
	return c.print(cmd, s, func() *table { return c.fieldTable(s) })
}

// settingsDoctor shows what the service finds wrong with itself. It fails if there is a fault.
func (c *cli) settingsDoctor(cmd *cobra.Command, _ []string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	d, err := found[gen.Diagnosis](c)(client.GetDoctorWithResponse(cmd.Context()))
	if err != nil {
		return err
	}
	faults, warnings := 0, 0
	for i := range d.Findings {
		switch d.Findings[i].Status {
		case gen.DoctorFindingStatusFault:
			faults++
		case gen.DoctorFindingStatusWarning:
			warnings++
		}
	}
	err = c.print(cmd, d, func() *table {
		t := c.newTable("check", "object", "state", "result")
		for i := range d.Findings {
			f := &d.Findings[i]
			text := c.texts.Either(f.Text, &f.Said)
			if f.Remedy != nil {
				text += " → " + c.texts.Either(*f.Remedy, f.RemedySaid)
			}
			t.add(f.Check, cmdline.OrZero(f.Subject), c.t("doctor.status."+string(f.Status)), text)
		}
		return t
	})
	if err == nil && faults > 0 {
		err = errors.New(c.t("doctor.verdict", "faults", faults, "warnings", warnings))
	}
	return err
}
