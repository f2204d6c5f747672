package script

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheSessionOfTheDocsIsTheScript checks that session.txtar runs every command of the session with two managers in
// the docs, in the same order.
func TestTheSessionOfTheDocsIsTheScript(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, section, _ := strings.Cut(read("../../docs/service.md"), "\n## A session with two managers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	script, files, _ := strings.Cut(read("session.txtar"), "\n-- ")
	places := strings.NewReplacer("http://127.0.0.1:8471", "http://$LISTEN2", "127.0.0.1:8470", "$LISTEN", "127.0.0.1:8471", "$LISTEN2", "unix:lab", "$SOCKET")
	redirected := regexp.MustCompile(` (< \S+|> \S+|&)$`)
	commands := 0
	for _, m := range regexp.MustCompile(`(?m)^(?:\$|   ) (fairlane .*)$`).FindAllStringSubmatch(section, -1) {
		want := "exec " + places.Replace(redirected.ReplaceAllString(m[1], ""))
		_, rest, ok := strings.Cut(script, want)
		if end, _, _ := strings.Cut(rest, "\n"); !ok || end != "" && !strings.HasPrefix(end, " &") {
			t.Errorf("session.txtar does not run, or not in this order:\n%s", want)
			continue
		}
		script = rest
		commands++
	}
	if commands < 20 {
		t.Errorf("%d commands found in docs/service.md, want the complete session", commands)
	}
	// The files in the docs are those of the script.
	for _, m := range regexp.MustCompile("(?s)```yaml\n# (\\S+)\n(.*?)```").FindAllStringSubmatch(section, -1) {
		_, file, _ := strings.Cut("\n-- "+files, "\n-- "+m[1]+" --\n")
		file, _, _ = strings.Cut(file, "\n-- ")
		file = strings.ReplaceAll(file, "${SOCKET}", "unix:lab")
		if strings.TrimSpace(file) != strings.TrimSpace(m[2]) {
			t.Errorf("%s is in the docs\n%s\nand in the script\n%s", m[1], m[2], file)
		}
	}
}
