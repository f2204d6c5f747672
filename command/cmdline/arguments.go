package cmdline

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/internal/cobraerror"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// OneArgument accepts exactly one argument; its error for a missing one names it.
func OneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return usage.Of(phrase.Of("usage.command-argument-missing", "command", cmd.CommandPath(), "argument", name, "usage", cmd.UseLine()))
		default:
			return usage.Of(phrase.Of("usage.one-argument", "command", cmd.CommandPath(), "n", len(args), "arguments", strings.Join(args, " "), "want", name))
		}
	}
}

// judgeArguments makes a command and its subcommands report faulty arguments. Cobra treats any word after a group of
// commands as a request for help.
func judgeArguments(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args, cmd.DisableFlagsInUseLine = nil, true
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] != "help" {
				return usage.Wrap(cobraerror.Command(cmd, args[0]))
			}
			return cmd.Help()
		}
	}
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd, args); err != nil {
				return cobraerror.Args(cmd, args, err)
			}
		}
		return missingFlags(cmd)
	}
	for _, sub := range cmd.Commands() {
		judgeArguments(sub)
	}
}

// missingFlags explains the required flags that were not given.
func missingFlags(cmd *cobra.Command) error {
	err := cmd.ValidateRequiredFlags()
	if err == nil {
		return nil
	}
	var texts []phrase.Text
	for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(err.Error(), -1) {
		texts = append(texts, phrase.Of("usage.flag-missing", "flag", m[1], "usage", strings.ReplaceAll(cmd.Flag(m[1]).Usage, "`", "")))
	}
	return usage.Of(phrase.Of("usage.see-help", "text", texts))
}

// wrongFlag returns the error for an invalid value of a flag, without the text of package strconv.
func wrongFlag(cmd *cobra.Command, err error) error {
	return usage.Wrap(cobraerror.Flag(cmd, err))
}
