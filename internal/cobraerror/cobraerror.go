// Package cobraerror says what cobra finds wrong with a command line in the words of the catalogue, for every program.
package cobraerror

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlane/internal/phrase"
	"fairlane/internal/suggest"
)

// badValue matches cobra's error for an invalid value of a flag.
var badValue = regexp.MustCompile(`(?s)^invalid argument (".*") for (".*") flag: (.*)$`)

// Flag rewrites the error for an invalid flag: without the texts of packages strconv and time, and as a sentence
// if cobra's text is known. It returns other errors unchanged.
func Flag(cmd *cobra.Command, err error) error {
	text := err.Error()
	if m := badValue.FindStringSubmatch(text); m != nil {
		return &phrase.Error{Text: phrase.Of("usage.bad-value", "value", m[1], "flag", m[2], "reason", wanted(err, m[3]))}
	}
	if name, ok := strings.CutPrefix(text, "unknown flag: "); ok {
		if like := suggest.Names(strings.TrimLeft(name, "-"), flagNames(cmd)); len(like) > 0 {
			return &phrase.Error{Text: phrase.Of("usage.unknown-flag-near", "flag", name, "near", "--"+strings.Join(like, ", --"))}
		}
		return &phrase.Error{Text: phrase.Of("usage.unknown-flag", "flag", name)}
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: "); ok {
		return &phrase.Error{Text: phrase.Of("usage.flag-needs-value", "flag", name)}
	}
	return err
}

// flagNames lists the visible flags of a command.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// Command returns an error that lists the commands of a group, for an unknown one.
func Command(group *cobra.Command, name string) error {
	var names []string
	for _, c := range group.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if like := suggest.Quoted(name, names); like != "" {
		return &phrase.Error{Text: phrase.Of("usage.unknown-command-near", "command", fmt.Sprintf("%q", name), "group", fmt.Sprintf("%q", group.CommandPath()), "near", like)}
	}
	return &phrase.Error{Text: phrase.Of("usage.unknown-command", "command", fmt.Sprintf("%q", name), "group", fmt.Sprintf("%q", group.CommandPath()), "commands", names)}
}

// Args reports what is wrong with a command's arguments. Cobra reports an unknown command if there should be none,
// and only their number if they are too few or too many.
func Args(cmd *cobra.Command, args []string, err error) error {
	switch text := err.Error(); {
	case strings.HasPrefix(text, "unknown command ") && !cmd.HasSubCommands():
		return &phrase.Error{Text: phrase.Of("usage.no-argument", "argument", fmt.Sprintf("%q", args[0]))}
	case !strings.HasPrefix(text, "accepts ") && !strings.HasPrefix(text, "requires "):
		return err
	case len(args) == 0:
		return &phrase.Error{Text: phrase.Of("usage.argument-missing", "usage", cmd.UseLine())}
	}
	return &phrase.Error{Text: phrase.Of("usage.arguments", "arguments", strings.Join(args, " "), "usage", cmd.UseLine())}
}

// wanted returns the allowed values of a flag; why is cobra's reason without the flag.
func wanted(err error, why string) phrase.Text {
	var e *strconv.NumError
	switch {
	case strings.HasPrefix(why, "time: "):
		return phrase.Of("usage.want-duration")
	case !errors.As(err, &e):
		if cause := errors.Unwrap(err); cause != nil && cause.Error() == why {
			return phrase.OfError(cause)
		}
		return phrase.Verbatim(why)
	case strings.HasPrefix(e.Func, "ParseBool"):
		return phrase.Of("usage.want-bool")
	case strings.HasPrefix(e.Func, "ParseFloat"):
		return phrase.Of("usage.want-number")
	case errors.Is(e.Err, strconv.ErrRange):
		return phrase.Of("usage.want-smaller")
	case strings.HasPrefix(e.Func, "ParseUint"):
		return phrase.Of("usage.want-natural")
	}
	return phrase.Of("usage.want-whole")
}
