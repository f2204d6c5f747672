package cmdline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// refused is an error of input that the service refuses.
type refused bool

func (refused) Error() string    { return "refused" }
func (r refused) BadInput() bool { return bool(r) }

// tree adds commands as those of the program are: a noun of the service with a verb that is local, and plain commands.
func tree(a *cmdline.App, root *cobra.Command) {
	root.PersistentFlags().String("url", "", "where the service is")
	root.PersistentFlags().String("output", "table", "form of the answer")
	end := func(err error) func(*cobra.Command, []string) error {
		return func(*cobra.Command, []string) error { return err }
	}
	show := &cobra.Command{Use: "show NAME", Short: "Show one", Args: cmdline.OneArgument("NAME"), RunE: func(cmd *cobra.Command, args []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "shown "+args[0])
		return err
	}}
	noun := &cobra.Command{Use: "tenant", Short: "Tenants"}
	noun.AddCommand(show, &cobra.Command{Use: "secret", Hidden: true, RunE: end(nil)})
	root.AddCommand(noun)
	check := &cobra.Command{Use: "check", Short: "Check a file", Args: cobra.NoArgs, RunE: end(nil)}
	check.Flags().String("file", "", "the `FILE` to check")
	check.Flags().Int("most", 0, "a number")
	cmdline.Must(check.MarkFlagRequired("file"))
	a.LocalOnly(check)
	cmdline.AddBelow(root, "tenant", check)
	seed := new(uint64)
	run := &cobra.Command{Use: "run", Short: "Run", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "seed", *seed)
		return err
	}}
	a.SeedFlag(run, seed, 7)
	cmdline.FormerName(run, "chance", "seed")
	root.AddCommand(run)
	for name, err := range map[string]error{
		"fail": errors.New("disk full"), "miss": fmt.Errorf("%w: plane ib", cmdline.ErrBoundMissed), "wrong": usage.Errorf("bad file"),
		"refused": fmt.Errorf("post: %w", refused(true)), "broken": refused(false), "canceled": context.Canceled,
		"said": usage.Of(phrase.Of("usage.want-bool")),
	} {
		root.AddCommand(&cobra.Command{Use: name, Short: name, Args: cobra.MaximumNArgs(1), RunE: end(err)})
	}
}

// run runs a command line and returns its exit code and output.
func run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, words bytes.Buffer
	code = cmdline.Main(ctx, args, &out, &words, tree)
	return code, out.String(), words.String()
}

func TestExitCodeAndMessageOfACommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line   string
		code   int
		stdout string
		stderr string // a fragment; "" wants none at all
	}{
		{"tenant show red", 0, "shown red\n", ""},
		{"run", 0, "seed 7\n", ""},
		{"run --seed 0x10", 0, "seed 16\n", ""},
		{"run --chance 9", 0, "seed 9\n", ""},
		{"fail", 1, "", "error: disk full\n"},
		{"miss", 1, "", "error: bound missed: plane ib\n"},
		{"broken", 1, "", "error: refused\n"},
		{"wrong", 2, "", "error: bad file\n"},
		{"refused", 2, "", "error: post: refused\n"},
		{"said", 2, "", "error: want true or false\n"},
		{"tenant show", 2, "", `NAME`},
		{"tenant show red blue", 2, "", "red blue"},
		{"tenant shwo", 2, "", `Did you mean "show"?`},
		{"tenant nonsense", 2, "", `"nonsense"`},
		{"nonsense", 2, "", `"nonsense"`},
		{"run now", 2, "", `"now"`},
		{"fail 1 2", 2, "", "1 2"},
		{"run --sed 3", 2, "", "--seed"},
		{"run --seed", 2, "", "--seed"},
		{"run --seed -1", 2, "", "0 to 18446744073709551615"},
		{"tenant check", 2, "", "--file"},
		{"tenant check --file", 2, "", "--file"},
		{"tenant check --file x --most y", 2, "", "want a whole number"},
		{"tenant check --file x", 0, "", ""},
		{"tenant check --file x --url y", 2, "", "--url"},
		{"tenant check --file x --output json", 2, "", "--output"},
		{"help nonsense", 2, "", `"nonsense"`},
		{"help run now", 2, "", `"now"`},
		{"run --lang fr", 2, "", `"fr"`},
	} {
		code, stdout, stderr := run(t.Context(), append([]string{"--lang=en"}, strings.Fields(c.line)...)...)
		if strings.Contains(c.line, "--lang") {
			code, stdout, stderr = run(t.Context(), strings.Fields(c.line)...)
		}
		if code != c.code || stdout != c.stdout || !strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" {
			t.Errorf("%s: exit code %d, printed %q and %q; want %d, %q and %q", c.line, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
		if strings.Contains(stderr, "strconv") || strings.Contains(stderr, "accepts ") || strings.Contains(stderr, "required flag") {
			t.Errorf("%s: %q has the words of a library", c.line, stderr)
		}
	}
}

// TestWrongUsageIsReportedInTheUsersLanguage: no word of English but names is left in Chinese.
func TestWrongUsageIsReportedInTheUsersLanguage(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"tenant show", "tenant show red blue", "tenant nonsense", "run now", "run --nonsense 3", "run --seed", "run --seed -1", "tenant check",
		"tenant check --file x --most y", "tenant check --file x --url y", "help nonsense", "help run now",
	} {
		code, _, stderr := run(t.Context(), append([]string{"--lang=zh"}, strings.Fields(line)...)...)
		for _, word := range []string{"want", "has", "error", "invalid", "unknown", "need", "see ", " for ", "missing"} {
			if code != cmdline.ExitUsage || strings.Contains(stderr, word) {
				t.Errorf("%s: exit code %d, %q", line, code, stderr)
			}
		}
	}
}

func TestInterruptedCommandReportsTheInterruption(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for lang, want := range map[string]string{"en": "interrupted", "zh": "已中断"} {
		if code, _, stderr := run(ctx, "--lang", lang, "canceled"); code != cmdline.ExitFailed || !strings.Contains(stderr, want) || strings.Contains(stderr, "context") {
			t.Errorf("%s: exit code %d, %q", lang, code, stderr)
		}
	}
}

func TestHelpIsCompleteInEachLanguage(t *testing.T) {
	t.Parallel()
	english := []string{"Usage:", "Available Commands:", "Global Flags:", "Flags:", "help for ", "Help about any", "Use \"", "for more information", "Generate the autocompletion"}
	for _, line := range []string{"", "help", "tenant", "tenant show -h", "help tenant show", "run --help", "completion", "completion bash --help", "tenant help"} {
		for _, lang := range []string{"en", "zh"} {
			code, stdout, stderr := run(t.Context(), append([]string{"--lang=" + lang}, strings.Fields(line)...)...)
			if code != 0 || stderr != "" || stdout == "" {
				t.Errorf("%s in %s: exit code %d, %q", line, lang, code, stderr)
			}
			for _, words := range english {
				if lang == "zh" && strings.Contains(stdout, words) {
					t.Errorf("%s in %s has %q:\n%s", line, lang, words, stdout)
				}
			}
			if strings.Contains(stdout, "secret") || strings.Contains(stdout, "--chance") {
				t.Errorf("%s in %s shows what is hidden:\n%s", line, lang, stdout)
			}
		}
	}
	if _, stdout, _ := run(t.Context(), "--lang=en", "help", "tenant", "show"); !strings.Contains(stdout, "fairlane tenant show NAME") || !strings.Contains(stdout, "--url") {
		t.Errorf("help of a verb is\n%s", stdout)
	}
	if _, stdout, _ := run(t.Context(), "--lang=en", "help", "tenant", "check"); strings.Contains(stdout, "--url") || !strings.Contains(stdout, "--file") {
		t.Errorf("help of a local verb shows flags that it refuses:\n%s", stdout)
	}
}

func TestUnknownLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked, variable string
		bad             string
	}{
		{"", "", ""}, {"en", "", ""}, {"zh", "fr", ""}, {"", "zh_CN.UTF-8", ""}, {"", "en", ""},
		{"fr", "", `"fr"`}, {"", "fr", `"fr"`}, {"ZH", "en", `"ZH"`},
	} {
		err := cmdline.CheckLanguage(c.asked, func(key string) string {
			if key != "FAIRLANE_LANG" {
				t.Errorf("it asked for %s", key)
			}
			return c.variable
		})
		if c.bad == "" && err != nil || c.bad != "" && (!errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), c.bad)) {
			t.Errorf("--lang %q with FAIRLANE_LANG=%q: %v", c.asked, c.variable, err)
		}
	}
}

func TestWarningsAreInTheUsersLanguage(t *testing.T) {
	t.Parallel()
	a := cmdlinetest.App(t, "zh")
	var out, words bytes.Buffer
	a.Stdout, a.Stderr = &out, &words
	a.Warn(a.Say([]phrase.Text{phrase.Of("usage.want-bool"), phrase.Verbatim("x")})...)
	lines := strings.Split(strings.TrimSuffix(words.String(), "\n"), "\n")
	if out.Len() > 0 || len(lines) != 2 || strings.Contains(lines[0], "want") || !strings.HasSuffix(lines[1], "x") {
		t.Errorf("it printed %q and %q", out.String(), words.String())
	}
}

func TestFileIsReadUpToItsLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := cmdline.ReadFile(phrase.Verbatim("scenario"), path, 2<<20); err != nil || len(b) != 2<<20 {
		t.Errorf("a file of the largest size: %d bytes, %v", len(b), err)
	}
	_, err := cmdline.ReadFile(phrase.Verbatim("scenario"), path, 2<<20-1)
	if !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), "scenario "+path) {
		t.Errorf("a byte more: %v", err)
	}
	for name, path := range map[string]string{"no file": path + "y", "a folder": filepath.Dir(path)} {
		if _, err := cmdline.ReadFile(phrase.Verbatim("scenario"), path, 1); !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
