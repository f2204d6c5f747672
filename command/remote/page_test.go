package remote

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"fairlane/command/manifest"
)

var updatePage = flag.Bool("update-page", false, "rewrite the table of commands in docs/cli.md")

const (
	pagePath      = "../../docs/cli.md"
	commandsBegin = "<!-- commands: begin -->\n"
	commandsEnd   = "<!-- commands: end -->\n"
)

// commandsTable returns the page's table of commands.
func commandsTable() string {
	table := reach()
	var b strings.Builder
	b.WriteString("| command | what it does | operations |\n|---|---|---|\n")
	for _, cmd := range leaves() {
		var operations []string
		for _, id := range slices.Sorted(maps.Keys(table)) {
			if line, name := table[id], called(cmd); line == name || strings.HasPrefix(line, name+" ") {
				operations = append(operations, "`"+id+"`")
			}
		}
		_, arguments, _ := strings.Cut(cmd.Use, " ")
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.TrimSpace(called(cmd)+" "+arguments), cmd.Short, strings.Join(operations, ", "))
	}
	return b.String()
}

func TestThePageOfTheCommandLineHasEveryCommand(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), commandsBegin)
	shown, after, closed := strings.Cut(rest, commandsEnd)
	if !ok || !closed {
		t.Fatal("docs/cli.md has lost the marks of its table of commands")
	}
	if *updatePage {
		if err := os.WriteFile(pagePath, []byte(before+commandsBegin+commandsTable()+commandsEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != commandsTable() {
		t.Errorf("the table of commands in docs/cli.md is not that of the program: run go test ./command/remote -run ThePage -update-page and review")
	}
	for _, k := range manifest.Kinds() {
		if !strings.Contains(before, "| `"+string(k)+"` |") {
			t.Errorf("docs/cli.md does not explain the kind %s", k)
		}
	}
}

// TestTheManifestsOfThePageAreValid reads the manifests in the page.
func TestTheManifestsOfThePageAreValid(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	list, err := manifest.Read("docs/cli.md", strings.NewReader(text))
	if !ok || err != nil || len(list) != 3 {
		t.Errorf("the example has %d resources: %v", len(list), err)
	}
}
