package remote

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
)

func TestFindingsAreInTheUsersLanguage(t *testing.T) {
	t.Parallel()
	fix, advice := "use mode product", phrase.Of("plan.increase-clamped.fix")
	said := phrase.Of("plan.weight-unreachable", "tenant", "gold\x1b[31m", "entitled", "3 Gbit/s", "predicted", "2 Gbit/s")
	list := []gen.Finding{
		{Code: "weight-unreachable", Message: said.String(), Fix: &fix, Said: &said, Advice: &advice},
		{Code: "of-a-later-version", Message: "not so fast", Said: new(phrase.Of("plan.of-tomorrow", "how", "fast"))},
		{Code: "forged\x1b[2J", Message: "not well", Said: new(phrase.Of("plan.weight-unreachable", "tenant", "gold"))},
		{Code: "of-an-earlier-version", Message: "but so", Fix: &fix},
	}
	for lang, want := range map[string]string{
		"en": "finding weight-unreachable: tenant gold?[31m is entitled to 3 Gbit/s and predicted to get 2 Gbit/s\n  fix: use mode product\n" +
			"finding of-a-later-version: not so fast\nfinding forged?[2J: not well\nfinding of-an-earlier-version: but so\n  fix: use mode product\n",
		"zh": "问题 weight-unreachable：租户 gold?[31m 应得 3 Gbit/s，预测得到 2 Gbit/s\n  解决办法：使用 product 模式\n" +
			"问题 of-a-later-version：not so fast\n问题 forged?[2J：not well\n问题 of-an-earlier-version：but so\n  解决办法：use mode product\n",
	} {
		texts, err := i18n.Load(lang)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetErr(&out)
		(&cli{texts: texts, getenv: func(string) string { return "" }}).findings(cmd, list, nil)
		if got := out.String(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", lang, got, want)
		}
	}
}

func TestNotesAndFailuresAreInTheUsersLanguage(t *testing.T) {
	t.Parallel()
	texts, err := i18n.Load("zh")
	if err != nil {
		t.Fatal(err)
	}
	c := &cli{texts: texts}
	note, failure := phrase.Of("baseline.as-plan", "plan", "64b14af734de"), phrase.Of("task.managers-ended", "n", 3)
	for _, got := range []*table{
		c.baselineTable([]gen.BaselineDevice{{Name: "h1/P1", Note: new(note.String()), NoteSaid: &note}}),
		(&tasks[gen.Simulation]{c: c, of: simulationTask}).table([]gen.Simulation{{Error: new(failure.String()), ErrorSaid: &failure}}),
	} {
		row := got.texts()[0]
		if last := row[len(row)-1]; last != texts.Say(note) && last != texts.Say(failure) {
			t.Errorf("got %q", last)
		}
	}
}
