package cobraerror

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestFlagErrorsAreSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, value, want string }{
		{"short", "99999", "want a smaller number"},
		{"short", "-1", "want a whole number, 0 or more"},
		{"int", "x", "want a whole number"},
		{"rate", "much", "want a number"},
		{"yes", "maybe", "want true or false"},
		{"rest", "5", "want a duration with its unit, such as 500ms, 30s or 5m"},
		{"rest", "soon", "want a duration with its unit, such as 500ms, 30s or 5m"},
	} {
		cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, Run: func(*cobra.Command, []string) {}}
		cmd.SetOut(io.Discard)
		cmd.Flags().Uint16("short", 0, "")
		cmd.Flags().Int("int", 0, "")
		cmd.Flags().Float64("rate", 0, "")
		cmd.Flags().Bool("yes", false, "")
		cmd.Flags().Duration("rest", 0, "")
		cmd.SetArgs([]string{"--" + c.flag + "=" + c.value})
		err := cmd.Execute()
		if err == nil {
			t.Fatalf("--%s %s was taken", c.flag, c.value)
		}
		got := Flag(cmd, err).Error()
		if !strings.HasSuffix(got, "\" flag: "+c.want) || !strings.Contains(got, c.value) || strings.Contains(got, "strconv") {
			t.Errorf("--%s %s: %s", c.flag, c.value, got)
		}
	}
	other := errors.New("unknown flag: --x")
	if got := Flag(&cobra.Command{}, other); got.Error() != other.Error() {
		t.Errorf("another error became %v", got)
	}
}
