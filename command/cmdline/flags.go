package cmdline

import (
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"fairlane/internal/phrase"
)

// seedValue is a seed as a flag.
type seedValue uint64

// SeedFlag adds --seed, which is put into to; what is there is the default.
func (a *App) SeedFlag(cmd *cobra.Command, to *uint64, initial uint64) {
	*to = initial
	cmd.Flags().Var((*seedValue)(to), "seed", a.T("flag.seed"))
}

// Set reads a decimal seed, or one with the prefix 0x, 0o or 0b.
func (v *seedValue) Set(text string) error {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return &phrase.Error{Text: phrase.Of("usage.want-seed", "max", strconv.FormatUint(math.MaxUint64, 10))}
	}
	*v = seedValue(n)
	return nil
}

// String returns the seed in decimal.
func (v *seedValue) String() string { return strconv.FormatUint(uint64(*v), 10) }

// Type names the kind of value in help texts.
func (v *seedValue) Type() string { return "uint64" }

// FormerName keeps the former name of a flag, out of help texts.
func FormerName(cmd *cobra.Command, former, name string) {
	f := *cmd.Flag(name)
	f.Name, f.Shorthand, f.Hidden = former, "", true
	cmd.Flags().AddFlag(&f)
}

// MKeyFlag is where commands that ask the devices of a live fabric find its M_Key.
func (a *App) MKeyFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "m-key-file", "", a.T("fabriccheck.mkey"))
}

// IBProfilesFlag gives a command the flag that names a site's file.
func (a *App) IBProfilesFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "ib-profiles", "", a.T("flag.ib-profiles"))
}
