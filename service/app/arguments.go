package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/command/remote"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// oneArg accepts exactly one argument, and names it when it is missing.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return usage.Of(phrase.Of("{}: argument {} is missing: want {}", cmd.CommandPath(), name, cmd.UseLine()))
		default:
			return usage.Of(phrase.Of("{}: {} arguments ({}): want one, {}", cmd.CommandPath(), len(args), strings.Join(args, " "), name))
		}
	}
}

// judgeArgs makes a command, and those below it, say what is wrong with arguments. Cobra takes any word behind a group of
// commands for a question for help.
func judgeArgs(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args, cmd.DisableFlagsInUseLine = nil, true
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] != "help" {
				return &usage.Error{Err: remote.UnknownCommand(cmd, args[0])}
			}
			return cmd.Help()
		}
	}
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd, args); err != nil {
				return remote.ArgsError(cmd, args, err)
			}
		}
		return missingFlags(cmd)
	}
	for _, sub := range cmd.Commands() {
		judgeArgs(sub)
	}
}

// missingFlags says what the required flags are for that were not given.
func missingFlags(cmd *cobra.Command) error {
	err := cmd.ValidateRequiredFlags()
	if err == nil {
		return nil
	}
	var texts []phrase.Text
	for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(err.Error(), -1) {
		texts = append(texts, phrase.Of("--{} is missing: {}", m[1], strings.ReplaceAll(cmd.Flag(m[1]).Usage, "`", "")))
	}
	return usage.Of(phrase.Of("{}; see --help", texts))
}

// formerName keeps the former name of a flag, out of help texts.
func formerName(cmd *cobra.Command, former, name string) {
	f := *cmd.Flag(name)
	f.Name, f.Shorthand, f.Hidden = former, "", true
	cmd.Flags().AddFlag(&f)
}

// flagError is the error of a flag whose value cannot be read, in words instead of those of package strconv.
func flagError(cmd *cobra.Command, err error) error {
	return &usage.Error{Err: remote.FlagError(cmd, err)}
}

// jsonLine is ":LINE" of what a JSON decoder refused in a text, where its error tells the place: of a text that was
// cut off, the last line.
func jsonLine(text []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at := int64(-1)
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		at = int64(len(bytes.TrimRight(text, "\n")))
	}
	if at < 0 || at > int64(len(text)) {
		return ""
	}
	return fmt.Sprintf(":%d", 1+bytes.Count(text[:at], []byte{'\n'}))
}

// seedValue is a seed as a flag.
type seedValue uint64

// seedFlag adds --seed, which is put into to; what is there is the default.
func (a *app) seedFlag(cmd *cobra.Command, to *uint64, initial uint64) {
	*to = initial
	cmd.Flags().Var((*seedValue)(to), "seed", a.t("flag.seed"))
}

// Set reads a decimal seed, or one with the prefix 0x, 0o or 0b.
func (v *seedValue) Set(text string) error {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return fmt.Errorf("want a whole number from 0 to %d", uint64(math.MaxUint64))
	}
	*v = seedValue(n)
	return nil
}

// String returns the seed in decimal.
func (v *seedValue) String() string { return strconv.FormatUint(uint64(*v), 10) }

// Type names the kind of value in help texts.
func (v *seedValue) Type() string { return "uint64" }
