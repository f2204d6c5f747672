package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// FlagError is the error of a flag whose value cannot be read, in words instead of those of packages strconv and time.
// Other errors come back as they are.
func FlagError(err error) error {
	if at, _, ok := strings.Cut(err.Error(), " flag: time: "); ok {
		return fmt.Errorf("%s flag: want a time with its unit, such as 500ms, 30s or 5m", at)
	}
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return err
	}
	return fmt.Errorf("%s: want %s", strings.TrimSuffix(err.Error(), ": "+number.Error()), wanted(number))
}

// UnknownCommand says which commands a group of them has in place of one that it has not.
func UnknownCommand(group *cobra.Command, name string) error {
	var names []string
	for _, c := range group.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q: want one of %s", name, group.CommandPath(), strings.Join(names, ", "))
}

// ArgsError says what cobra calls an unknown command of one that has none below it: an argument.
func ArgsError(cmd *cobra.Command, args []string, err error) error {
	if cmd.HasSubCommands() || !strings.HasPrefix(err.Error(), "unknown command ") {
		return err
	}
	return fmt.Errorf("argument %q: want none", args[0])
}

// wanted says what a strconv function reads.
func wanted(e *strconv.NumError) string {
	switch {
	case strings.HasPrefix(e.Func, "ParseBool"):
		return "true or false"
	case strings.HasPrefix(e.Func, "ParseFloat"):
		return "a number"
	case errors.Is(e.Err, strconv.ErrRange):
		return "a smaller number"
	case strings.HasPrefix(e.Func, "ParseUint"):
		return "a whole number, 0 or more"
	}
	return "a whole number"
}
