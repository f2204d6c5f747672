package cli

import (
	"github.com/spf13/cobra"

	"fairlane/api/gen"
)

// optionFlags are the compiler's options as flags. Only those that were given count.
type optionFlags struct {
	mode, law, perQP, plane, profile string
	reserved                         []int
	entries                          int
	restart, arbitration             bool
}

// add declares the flags.
func (f *optionFlags) add(c *cli, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		fl := cmd.Flags()
		fl.StringVar(&f.mode, "mode", "", c.t("flag.mode"))
		fl.StringVar(&f.law, "cct-law", "", c.t("flag.cct-law"))
		fl.StringVar(&f.perQP, "per-qp", "", c.t("flag.per-qp"))
		fl.StringVar(&f.plane, "plane", "", c.t("flag.plane"))
		fl.StringVar(&f.profile, "profile", "", c.t("flag.profile"))
		fl.IntSliceVar(&f.reserved, "reserved-sl", nil, c.t("flag.reserved-sl"))
		fl.IntVar(&f.entries, "table-entries", 0, c.t("flag.table-entries"))
		fl.BoolVar(&f.restart, "timer-restart", false, c.t("flag.timer-restart"))
		fl.BoolVar(&f.arbitration, "vl-arbitration", false, c.t("flag.vl-arbitration"))
	}
}

// fill puts what was given into options and reports whether anything was.
func (f *optionFlags) fill(cmd *cobra.Command, o *gen.CompileOptions) bool {
	t := &taker{cmd: cmd}
	take(t, "mode", &o.Mode, new(gen.CompileOptionsMode(f.mode)))
	take(t, "cct-law", &o.CCTLaw, new(gen.CompileOptionsCCTLaw(f.law)))
	take(t, "per-qp", &o.PerQP, new(gen.CompileOptionsPerQP(f.perQP)))
	take(t, "plane", &o.Plane, new(gen.CompileOptionsPlane(f.plane)))
	take(t, "profile", &o.Profile, &f.profile)
	take(t, "reserved-sl", &o.ReservedSls, f.reserved)
	take(t, "table-entries", &o.TableEntries, &f.entries)
	take(t, "timer-restart", &o.TimerRestart, &f.restart)
	take(t, "vl-arbitration", &o.VlArbitration, &f.arbitration)
	return t.any
}

func (c *cli) option() *cobra.Command {
	var f optionFlags
	var reset bool
	set := c.verb("option", "set", "  fairlane option set --mode theorem1 --vl-arbitration\n  fairlane option set --reset", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.optionSet(cmd, &f, reset) })
	f.add(c, set)
	set.Flags().BoolVar(&reset, "reset", false, c.t("flag.reset"))
	c.writes(set)
	c.matches(set)
	return c.noun("option", set, c.verb("option", "show", "  fairlane option show", cobra.NoArgs, c.optionShow))
}

func (c *cli) optionShow(cmd *cobra.Command, _ []string) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	o, err := found[gen.CompileOptions](c)(client.GetOptionsWithResponse(cmd.Context(), fabric))
	if err != nil {
		return err
	}
	return c.print(cmd, o, func() *table { return c.fieldTable(o) })
}

// optionSet changes what was given and leaves the rest, against the version that it read.
func (c *cli) optionSet(cmd *cobra.Command, f *optionFlags, reset bool) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	r, err := client.GetOptionsWithResponse(cmd.Context(), fabric)
	next, err := found[gen.CompileOptions](c)(r, err)
	if err != nil {
		return err
	}
	if reset {
		*next = gen.CompileOptions{}
	}
	if !f.fill(cmd, next) && !reset {
		return c.usage("err.no-change")
	}
	match := c.ifMatch(r.HTTPResponse.Header.Get("ETag"))
	o, err := found[gen.CompileOptions](c)(client.PutOptionsWithResponse(cmd.Context(), fabric, &gen.PutOptionsParams{DryRun: given(c.dry), IfMatch: match}, *next))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.options-set", "fabric", fabric)
	return c.print(cmd, o, func() *table { return c.fieldTable(o) })
}
