package remote

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const (
	// mostRows is the default limit of rows in a command's first table: about a screen, with the lines around it.
	mostRows = 20
	// mostFurther is the limit for each further table.
	mostFurther = 10
)

// rowFlags limit the rows of a long table. JSON and YAML are complete except for filters.
type rowFlags struct {
	top   int
	all   bool
	quiet bool
	name  string // pattern for names of devices
	state string
}

// long adds --top, --all and --quiet to commands with long answers; quiet is the key of the last flag's text, "" for
// none. Commands that already have the first two, because they list objects, get only the last.
func (c *cli) long(quiet string, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		f := cmd.Flags()
		if quiet != "" {
			f.BoolVarP(&c.rows.quiet, "quiet", "q", false, c.t(quiet))
		}
		if f.Lookup("top") != nil {
			continue
		}
		f.IntVar(&c.rows.top, "top", 0, c.t("flag.top"))
		f.BoolVar(&c.rows.all, "all", false, c.t("flag.all"))
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("top") && c.rows.top < 1:
				return c.usage("err.top", "found", c.rows.top)
			case c.rows.all && c.rows.top > 0:
				return c.usage("err.top-or-all")
			}
			return run(cmd, args)
		}
	}
}

// ofDevices adds filters by name and state to commands that list devices.
func (c *cli) ofDevices(cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		f := cmd.Flags()
		f.StringVar(&c.rows.name, "name", "", c.t("flag.device-name"))
		f.StringVar(&c.rows.state, "state", "", c.t("flag.device-state"))
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if _, err := path.Match(c.rows.name, ""); err != nil {
				return c.usage("err.device-name", "found", fmt.Sprintf("%q", c.rows.name))
			}
			if c.rows.state != "" && !slices.Contains(states[:], c.rows.state) {
				return c.usage("err.device-state", "found", fmt.Sprintf("%q", c.rows.state), "states", commas(states[:]))
			}
			return run(cmd, args)
		}
	}
}

// takes reports whether a device passes the filters.
func (f *rowFlags) takes(name, state string) bool {
	if f.state != "" && f.state != state {
		return false
	}
	if f.name == "" {
		return true
	}
	flat := strings.NewReplacer("/", "\x00") // port names contain slashes, which * in path.Match does not match
	fits, err := path.Match(flat.Replace(f.name), flat.Replace(name))
	return err == nil && fits
}

// most returns the limit of rows for the first table of a command.
func (f *rowFlags) most(cmd *cobra.Command) int {
	switch {
	case f.all || cmd.Flags().Lookup("top") == nil:
		return math.MaxInt
	case f.top > 0:
		return f.top
	}
	return mostRows
}

// next returns the limit of rows for the table after one with most rows.
func (f *rowFlags) next(cmd *cobra.Command, most int) int {
	if f.top == 0 && f.most(cmd) == mostRows {
		return mostFurther
	}
	return most
}

// states are those of devices, from the best to the worst.
var states = [...]string{"in-sync", "clean-up-pending", "pending", "applying", "verifying", "unknown", "unsupported", "rolled-back", "drifted", "unreachable", "quarantined", "failed"}

// stateRank returns the rank of a device's state: 0 if nothing is wrong. An unknown state of a later release ranks as
// the worst.
func stateRank(state string) float64 {
	if i := slices.Index(states[:], state); i >= 0 {
		return float64(i)
	}
	return float64(len(states))
}

// counted counts equal phrases, the most frequent first: "512 in sync, 3 failed".
func (c *cli) counted(keys []string) string {
	n := map[string]int{}
	var order []string
	for _, k := range keys {
		if n[k]++; n[k] == 1 {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(n[b], n[a]) })
	for i, k := range order {
		order[i] = c.t("msg.counted", "count", n[k], "what", c.t(k))
	}
	return strings.Join(order, c.t("list.separator"))
}
