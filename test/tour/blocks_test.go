package tour

import "testing"

// Indented and shell blocks of a page, and lines after a prompt, are run; data, output, and blocks marked with a reason
// are not.
func TestCommandsAreFoundInPages(t *testing.T) {
	t.Parallel()
	text := "# Page\n\n    first --flag   # why\n    # a comment\n\n    second \\\n      goes on\n\nWords\n    that are indented.\n\n" +
		"<!-- not run: output -->\n    42 rows\n\n```yaml\nkey: value\n```\n\n<!-- file: a.yaml -->\n```yaml\nkey: value\n```\n\n" +
		"```text\n$ third\nwhat it printed\n```\n\n<!-- exit: 2 -->\n```sh\nfourth\n```\n\n<!-- output: fifth -->\n<!-- exact -->\n    5\n"
	blocks, err := blocksOf(text)
	if err != nil {
		t.Fatal(err)
	}
	var got []command
	files, outputs, marked := "", "", 0
	for _, b := range blocks {
		switch {
		case b.marked:
			marked++
			if b.notRun != "output" {
				t.Errorf("reason %q", b.notRun)
			}
		case b.file != "":
			files += b.file + "=" + b.text
		case b.output != "":
			outputs += b.output + "=" + b.text
			if !b.exact {
				t.Error("the mark of an exact output is lost")
			}
		case b.isCode():
			got = append(got, b.commandsOf()...)
		}
	}
	want := []command{
		{line: 3, text: "first --flag   # why"}, {line: 6, text: "second \\\n  goes on"},
		{line: 25, text: "third", sample: "what it printed\n\n"}, {line: 31, text: "fourth", exits: 2},
	}
	if len(got) != len(want) || files != "a.yaml=key: value\n" || outputs != "fifth=5\n" || marked != 1 {
		t.Fatalf("commands %+v, files %q, outputs %q, %d marked", got, files, outputs, marked)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("command %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if _, err := blocksOf("<!-- not run: output -->\nwords\n"); err == nil {
		t.Error("a mark without a block is taken")
	}
}
