package remote

import (
	"testing"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
)

func TestFaultyFieldsAreNamedAsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command []string
		in      gen.ProblemFieldIn
		pointer string
		want    string
	}{
		{[]string{"plan", "show"}, "path", "plan", "NAME"},
		{[]string{"device", "list"}, "query", "plan", "--plan"},
		{[]string{"rollout", "start"}, "body", "/plan", "--plan"},
		{[]string{"tenant", "set"}, "body", "/guarantee_bps", "--guarantee"},
		{[]string{"tenant", "create"}, "body", "/attachments/0/port", "--attach"},
		{[]string{"tenant", "create"}, "body", "/name", "NAME"},
		{[]string{"tenant", "list"}, "path", "fabric", "--fabric"},
		{[]string{"fabric", "show"}, "path", "fabric", "NAME"},
		{[]string{"plan", "what-if"}, "body", "/edits/0", "--edit"},
		{[]string{"plan", "create"}, "body", "/options/reserved_sls/0", "--reserved-sl"},
		{[]string{"attachment", "add"}, "body", "/port", "PORT"},
		{[]string{"attachment", "add"}, "path", "tenant", "--tenant"},
		{[]string{"policy", "show"}, "path", "revision", "REVISION"},
		{[]string{"alert", "silence", "add"}, "body", "/matchers/0", "MATCHER"},
		{[]string{"settings", "set"}, "body", "/shares/interval_s", "--share-interval"},
		{[]string{"tenant", "list"}, "query", "cursor", ""},
		{[]string{"tenant", "list"}, "body", "", ""},
	} {
		cmd, rest, err := root(Options{Getenv: func(string) string { return "" }, Args: []string{}}).Find(c.command)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%v: %v %v", c.command, rest, err)
		}
		if got := inputName(cmd, gen.ProblemField{In: c.in, Pointer: c.pointer}); got != c.want {
			t.Errorf("%v: %s %q is %q, want %q", c.command, c.in, c.pointer, got, c.want)
		}
	}
	set := &cobra.Command{Use: "create [NAME]"}
	set.Flags().String("name", "", "")
	if err := set.ParseFlags([]string{"--name", "Red"}); err != nil {
		t.Fatal(err)
	}
	if got := inputName(set, gen.ProblemField{In: "body", Pointer: "/name"}); got != "--name" {
		t.Errorf("a name given as a flag is %q", got)
	}
}
