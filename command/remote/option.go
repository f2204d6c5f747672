package remote

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// optionFlags are the compiler's options as flags. Only given flags have an effect.
type optionFlags struct {
	mode, law, perQP, plane, profile string
	lever                            string
	classes                          cmdline.TrafficClasses
	reserved                         SLs
	entries                          int
	restart, arbitration             bool
}

// add defines the flags.
func (f *optionFlags) add(c *cli, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		fl := cmd.Flags()
		fl.StringVar(&f.mode, "mode", "", c.t("flag.mode"))
		fl.StringVar(&f.law, "cct-law", "", c.t("flag.cct-law"))
		fl.StringVar(&f.perQP, "per-qp", "", c.t("flag.per-qp"))
		fl.StringVar(&f.plane, "plane", "", c.t("flag.plane"))
		fl.StringVar(&f.profile, "profile", "", c.t("flag.profile"))
		fl.StringVar(&f.lever, "lever", "", c.t("flag.lever"))
		fl.Var(&f.classes, "classes", c.t("flag.classes"))
		fl.Var(&f.reserved, "reserved-sl", c.t("flag.reserved-sl"))
		fl.IntVar(&f.entries, "table-entries", 0, c.t("flag.table-entries"))
		fl.BoolVar(&f.restart, "timer-restart", false, c.t("flag.timer-restart"))
		fl.BoolVar(&f.arbitration, "vl-arbitration", false, c.t("flag.vl-arbitration"))
	}
}

// SLs is a list of service levels, 0 to 15, as a flag. The flag can be repeated or hold a list separated by commas;
// "none" is the empty list, which is not nil.
type SLs []int

// String returns the list in the format of Set.
func (s *SLs) String() string {
	if *s != nil && len(*s) == 0 {
		return noSLs
	}
	words := make([]string, len(*s))
	for i, sl := range *s {
		words[i] = strconv.Itoa(sl)
	}
	return strings.Join(words, ",")
}

// Set adds service levels to the list.
func (s *SLs) Set(text string) error {
	if text == noSLs && len(*s) == 0 {
		*s = SLs{}
		return nil
	}
	if *s != nil && len(*s) == 0 {
		return &phrase.Error{Text: phrase.Of("usage.sl-and-none", "found", strconv.Quote(text), "none", noSLs)}
	}
	for word := range strings.SplitSeq(text, ",") {
		sl, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || sl < 0 || sl >= ident.NumSLs {
			return &phrase.Error{Text: phrase.Of("usage.want-sl", "found", strconv.Quote(word), "max", ident.NumSLs-1, "none", noSLs)}
		}
		*s = append(*s, sl)
	}
	return nil
}

// Type returns the name of the value in help texts.
func (*SLs) Type() string { return "intSlice" }

const noSLs = "none"

// classesOf returns traffic classes as in the contract.
func classesOf(list cmdline.TrafficClasses) []gen.TrafficClass {
	var out []gen.TrafficClass
	for _, c := range list {
		out = append(out, gen.TrafficClass{Dscp: int(c.DSCP), Queue: int(c.Queue)})
	}
	return out
}

// fill copies the given flags into options and reports whether there were any.
func (f *optionFlags) fill(cmd *cobra.Command, o *gen.CompileOptions) bool {
	t := &taker{cmd: cmd}
	take(t, "mode", &o.Mode, new(gen.CompileOptionsMode(f.mode)))
	take(t, "cct-law", &o.CCTLaw, new(gen.CompileOptionsCCTLaw(f.law)))
	take(t, "per-qp", &o.PerQP, new(gen.CompileOptionsPerQP(f.perQP)))
	take(t, "plane", &o.Plane, new(gen.CompileOptionsPlane(f.plane)))
	take(t, "profile", &o.Profile, &f.profile)
	take(t, "lever", &o.Lever, new(gen.CompileOptionsLever(f.lever)))
	take(t, "classes", &o.Classes, classesOf(f.classes))
	take(t, "reserved-sl", &o.ReservedSls, []gen.SL(f.reserved))
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

// optionSet changes the given options against the version that it read.
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
