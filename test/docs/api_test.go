package docs

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"fairlane/api"
	"fairlane/internal/testkit/peertest"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/store"
)

// example is a command of a page with the answer shown below it.
type example struct{ command, answer string }

// examples returns the commands in a page's blocks of text, which begin with a dollar sign.
func examples(text string) []example {
	var out []example
	for _, block := range regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			last := len(out) - 1
			switch {
			case strings.HasPrefix(line, "$ "):
				out = append(out, example{command: line[2:]})
			case strings.HasPrefix(line, "> "):
				out[last].command += line[2:]
			default:
				out[last].answer += line
			}
		}
	}
	return out
}

// like reports whether an answer matches the page, in which … stands for any text.
func like(shown, got string) bool {
	parts := strings.Split(strings.TrimSuffix(shown, "\n"), "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*?") + "\n*$").MatchString(got)
}

// TestTheCommandsOfThePageOfTheAPIRun runs all commands in one shell against a real service, as a reader would.
func TestTheCommandsOfThePageOfTheAPIRun(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "sed"} {
		peertest.Program(t, tool)
	}
	rig := controltest.New(t, func(ctx context.Context, path string) (control.Store, io.Closer, error) {
		s, err := store.OpenSQLite(ctx, path, store.Options{})
		return s, s, err
	})
	h, err := api.New(rig.Service, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	list := examples(page(t, "docs/api.md"))
	if len(list) < 20 {
		t.Fatalf("%d commands found", len(list))
	}
	var script strings.Builder
	for i, e := range list {
		fmt.Fprintf(&script, "%s\nprintf '@@%d\\n'\n", strings.TrimSuffix(e.command, "\n"), i)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	cmd.Env = append(os.Environ(), "FAIRLANE_URL="+srv.URL, "FAIRLANE_TOKEN="+controltest.Token)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the shell ends with %v", err)
	}
	rest := string(out)
	for i, e := range list {
		got, after, ok := strings.Cut(rest, fmt.Sprintf("@@%d\n", i))
		if !ok {
			t.Fatalf("%s\nwas not run to its end: %s", e.command, rest)
		}
		rest = after
		if !like(e.answer, got) {
			t.Errorf("%s\nanswers\n%s\nthe page shows\n%s", e.command, got, e.answer)
		}
	}
	rig.Wait()
}

// TestThePageOfTheAPINamesExistingPaths compares the paths in the page with the contract.
func TestThePageOfTheAPINamesExistingPaths(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(api.Contract())
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("(?:\\$api|`(?:GET|POST|PUT|DELETE) (?:/api/v1)?)(/[a-z0-9/{}-]+)").FindAllStringSubmatch(page(t, "docs/api.md"), -1)
	if len(named) < 30 {
		t.Fatalf("%d paths found", len(named))
	}
	var paths []string
	for path := range doc.Paths.Map() {
		paths = append(paths, regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(strings.TrimPrefix(path, "/api/v1"), "[^/]+"))
	}
	known := regexp.MustCompile("^(" + strings.Join(paths, "|") + ")$")
	for _, m := range named {
		if !known.MatchString(m[1]) {
			t.Errorf("the page names %s, which the contract does not have", m[1])
		}
	}
}

func TestWrongAnswersAreDetected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, got string
		want       bool
	}{
		{"a…c\n", "abc\n", true}, {"a…c\n", "abd\n", false}, {"", "", true}, {"", "error\n", false}, {"200 \"2\"\n", "200 \"3\"\n", false}, {"{…}", "{}\n", true},
	} {
		if like(c.shown, c.got) != c.want {
			t.Errorf("%q is taken for %q: %v", c.got, c.shown, !c.want)
		}
	}
}
