package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"fairlane/api"
	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/ccconfig/driver"
	"fairlane/command/cmdline"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/store"
)

// openStore opens the real store for a rig.
func openStore(ctx context.Context, path string) (control.Store, io.Closer, error) {
	s, err := store.OpenSQLite(ctx, path, store.Options{})
	return s, s, err
}

// root is a command line as the process builds it.
func root(o Options) *cobra.Command {
	r := &cobra.Command{Use: "fairlane", SilenceErrors: true, SilenceUsage: true}
	r.AddCommand(New(o)...)
	return r
}

// asks builds a command line in an environment, with its output and its messages.
func asks(env map[string]string, args ...string) (cmd *cobra.Command, out, words *bytes.Buffer) {
	cmd, out, words = root(Options{Getenv: func(k string) string { return env[k] }, Args: []string{}}), &bytes.Buffer{}, &bytes.Buffer{}
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(words)
	return cmd, out, words
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fairlane": func() {
		r := root(Options{})
		if err := r.ExecuteContext(context.Background()); err != nil {
			text := err.Error()
			if texts, lost := i18n.Load(i18n.Pick(i18n.Asked(os.Args[1:]), os.Getenv)); lost == nil {
				text = texts.Error(err)
			}
			fmt.Fprintln(os.Stderr, "fairlane:", text)
			os.Exit(cmdline.ExitCode(err))
		}
	}})
}

// serve starts a service with fake devices of the star fabric; its store is empty except for the token.
func serve(t testing.TB) (*controltest.Rig, string) {
	t.Helper()
	r := controltest.New(t, openStore)
	h, err := api.New(r.Service, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return r, s.URL
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			r, url := serve(e.T().(testing.TB))
			e.Values["rig"] = r
			e.Setenv("FAIRLANE_URL", url)
			e.Setenv("FAIRLANE_TOKEN", controltest.Token)
			e.Setenv("LANG", "C")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// exit CODE ARGS... runs fairlane and checks its exit code.
			"exit": func(ts *testscript.TestScript, neg bool, args []string) {
				err := ts.Exec("fairlane", args[1:]...)
				got := 0
				var exit interface{ ExitCode() int }
				if errors.As(err, &exit) {
					got = exit.ExitCode()
				} else if err != nil {
					ts.Fatalf("%v", err)
				}
				if fmt.Sprint(got) != args[0] || neg {
					ts.Fatalf("exit code is %d, want %s", got, args[0])
				}
			},
			// planvar NAME sets a variable to the name of the newest stored plan.
			"planvar": func(ts *testscript.TestScript, _ bool, args []string) {
				r := ts.Value("rig").(*controltest.Rig)
				list, _, err := r.Service.ListPlans(context.Background(), "lab", control.Page{})
				if err != nil || len(list) == 0 {
					ts.Fatalf("plans: %d of them, %v", len(list), err)
				}
				ts.Setenv(args[0], list[0].Name)
			},
			// drift makes a device differ; failroll makes rollouts fail.
			"drift": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Value("rig").(*controltest.Rig).Devices.Drift()
			},
			// unmeasured TENANT omits a tenant from measurements.
			"unmeasured": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Value("rig").(*controltest.Rig).Devices.Unmeasured(args[0], phrase.Of("measure.at-port", "text", phrase.Of("measure.sl-saturated", "sl", 1), "port", "h1/P1"))
			},
			"failroll": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Value("rig").(*controltest.Rig).Devices.OnRead(func(context.Context, driver.Device) error {
					return errors.New("cable cut")
				})
			},
		},
	})
}

// within lists a command and all below it.
func within(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		all = append(all, within(sub)...)
	}
	return all
}

func TestEveryCommandExplainsItselfInBothLanguages(t *testing.T) {
	t.Parallel()
	for _, lang := range i18n.Languages() {
		for _, noun := range New(Options{Args: []string{"fairlane", "--lang", lang}, Getenv: func(string) string { return "" }}) {
			if len(noun.Commands()) == 0 && !noun.Runnable() {
				t.Errorf("%s has no subcommands", noun.Name())
			}
			for _, c := range within(noun) {
				if c.Short == "" || strings.HasPrefix(c.Short, "cmd.") {
					t.Errorf("%s: %s has no text: %q", lang, c.CommandPath(), c.Short)
				}
				if c.Runnable() && c != noun && !c.HasSubCommands() && !strings.Contains(c.Example, "fairlane "+c.CommandPath()) {
					t.Errorf("%s has no example of its own: %q", c.CommandPath(), c.Example)
				}
			}
			if chinese := regexp.MustCompile(`\p{Han}`).MatchString(noun.Short); chinese != (lang == "zh") {
				t.Errorf("%s: %s is explained as %q", lang, noun.Name(), noun.Short)
			}
		}
	}
}

// TestExamplesAreValidCommands parses each line of the examples as the program does, without running it.
func TestExamplesAreValidCommands(t *testing.T) {
	t.Parallel()
	after := regexp.MustCompile(` (>|<|&&|\|) .*`)
	quoted := regexp.MustCompile(`'[^']*'|\S+`)
	seen := 0
	for _, noun := range New(Options{Args: []string{}, Getenv: func(string) string { return "" }}) {
		for _, c := range append(noun.Commands(), noun) {
			for line := range strings.Lines(c.Example) {
				words := quoted.FindAllString(after.ReplaceAllString(strings.TrimSpace(line), ""), -1)
				if len(words) < 2 || words[0] != "fairlane" {
					t.Errorf("%s: the example %q is not a command", c.CommandPath(), line)
					continue
				}
				seen++
				found, rest, err := root(Options{Args: []string{}, Getenv: func(string) string { return "" }}).Find(words[1:])
				if err != nil || found.Name() != c.Name() {
					t.Errorf("%s: the example %q is of another command: %v", c.CommandPath(), line, err)
					continue
				}
				if err := found.ParseFlags(rest); err != nil {
					t.Errorf("%s: the example %q: %v", c.CommandPath(), line, err)
					continue
				}
				if err := found.Args(found, found.Flags().Args()); err != nil {
					t.Errorf("%s: the example %q: %v", c.CommandPath(), line, err)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d examples seen", seen)
	}
}

// sources lists the Go files of folders.
func sources(t *testing.T, folders ...string) (files []string) {
	t.Helper()
	for _, folder := range folders {
		list, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(list), err)
		}
		files = append(files, list...)
	}
	return files
}

func TestTheCatalogueHasExactlyTheUsedTexts(t *testing.T) {
	t.Parallel()
	c, err := i18n.Load(i18n.Default)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range sources(t, ".") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"((?:msg|err|flag|word|col)\.[a-z-]+)"`).FindAllSubmatch(src, -1) {
			used[string(m[1])] = true
		}
		for _, call := range regexp.MustCompile(`newTable\(([^)]*)\)`).FindAllSubmatch(src, -1) {
			for _, m := range regexp.MustCompile(`"([a-z-]+)[?]?>?"`).FindAllSubmatch(call[1], -1) {
				used["col."+string(m[1])] = true
			}
		}
	}
	for _, noun := range New(Options{Args: []string{}, Getenv: func(string) string { return "" }}) {
		for _, cmd := range within(noun) {
			used[strings.ReplaceAll("cmd."+cmd.CommandPath(), " ", ".")] = true
		}
	}
	for k := range used {
		if !c.Has(k) {
			t.Errorf("text %s is used and not in the catalogue", k)
		}
	}
	var elsewhere strings.Builder
	for _, name := range sources(t, "../../service/app", "../cmdline", "../local", "../lab", "../demo") {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		elsewhere.Write(src)
	}
	for _, k := range c.Keys() {
		switch kind, _, _ := strings.Cut(k, "."); kind {
		case "cmd", "msg", "err", "flag", "word", "col": // the families of keys that the command line owns
			if kind == "word" && strings.Count(k, ".") > 1 { // word.SET.VALUE, which internal/i18n tests
				continue
			}
			if !used[k] && !strings.Contains(elsewhere.String(), `"`+k+`"`) {
				t.Errorf("text %s is in the catalogue and not used", k)
			}
		}
	}
	for _, s := range []gen.RolloutState{"running", "succeeded", "partial", "failed", "rolled-back", "refused", "canceled", "interrupted"} {
		if !s.Valid() || !c.Has("state."+string(s)) {
			t.Errorf("state %s has no text", s)
		}
	}
}

func TestTablesAlignWideTexts(t *testing.T) {
	t.Parallel()
	tab := &table{head: []string{"租户", "速率"}, right: []bool{false, true}}
	tab.add("red", 7)
	tab.add("blau", 12345)
	var b bytes.Buffer
	if err := tab.write(&b, 0); err != nil {
		t.Fatal(err)
	}
	if want := "租户   速率\nred       7\nblau  12345\n"; b.String() != want {
		t.Errorf("table is\n%swant\n%s", b.String(), want)
	}
	if got := clean("a\x1b[2Jb\u202ec\n"); got != "a?[2Jb?c?" {
		t.Errorf("cleaned text is %q", got)
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		part, entitled, whole float64
		want                  string
	}{
		{0, 0, 0, ""},
		{0, 0, 1, strings.Repeat("·", 24)},
		{1, 0, 1, strings.Repeat("█", 24)},
		{2, 0, 1, strings.Repeat("█", 24)},
		{-1, 0, 1, strings.Repeat("·", 24)},
		{0.5, 1, 1, strings.Repeat("█", 12) + strings.Repeat("·", 11) + "|"},
		{1.0 / 48, 0, 1, "▌" + strings.Repeat("·", 23)},
	} {
		cell := bar(tc.part, tc.entitled, tc.whole)
		if got := cell.In(24); got != tc.want {
			t.Errorf("bar of %v with %v in %v is %q, want %q", tc.part, tc.entitled, tc.whole, got, tc.want)
		}
	}
}

func TestWatchingSharesEndsWithTheContext(t *testing.T) {
	t.Parallel()
	r, url := serve(t)
	r.Lab(t)
	p, _, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	env := map[string]string{"FAIRLANE_URL": url, "FAIRLANE_TOKEN": controltest.Token}
	cmd, _, _ := asks(env, "share", "show", "--watch", "--every", "100ms", "--plan", p.Plan.Name)
	cmd.SetOut(&stopAfter{n: 2, text: "red", stop: cancel})
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Errorf("watching ended with %v", err)
	}
}

// stopAfter calls stop after a text was written n times.
type stopAfter struct {
	n    int
	text string
	stop func()
}

func (s *stopAfter) Write(b []byte) (int, error) {
	if s.n -= bytes.Count(b, []byte(s.text)); s.n <= 0 {
		s.stop()
	}
	return len(b), nil
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	problem := func(status int) error { return &apiclient.ProblemError{Problem: gen.Problem{Status: status}} }
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {errors.New("x"), 1}, {usage.Errorf("x"), 2}, {fmt.Errorf("y: %w", usage.Errorf("x")), 2},
		{problem(400), 2}, {problem(422), 2}, {problem(404), 1}, {problem(409), 1}, {problem(500), 1},
	} {
		if got := cmdline.ExitCode(tc.err); got != tc.want {
			t.Errorf("%v ends with %d, want %d", tc.err, got, tc.want)
		}
	}
}
