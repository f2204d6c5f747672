package tour

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// block is a code block of a page.
type block struct {
	line   int    // number of its first line, from 1
	text   string // without indentation and fence
	fence  string // language of the fence; "" if there is none
	fenced bool
	notRun string // reason why it is not run
	marked bool   // it is not run, with or without a reason
	file   string // file whose contents it shows
	exits  int    // exit code of each of its commands
	output string // command whose output it shows; lastCommand for the preceding one
	exact  bool   // its output is compared including figures
}

// lastCommand means the command before a block in its page.
const lastCommand = "$last"

// Marks in a page, in comments that readers do not see. Each applies to the next block.
var (
	notRunMark = regexp.MustCompile(`^<!-- not run:(.*)-->$`)
	fileMark   = regexp.MustCompile(`^<!-- file: (\S+) -->$`)
	exitMark   = regexp.MustCompile(`^<!-- exit: (\d) -->$`)
	outputMark = regexp.MustCompile(`^<!-- output(?:: (.+))? -->$`)
	exactMark  = "<!-- exact -->"
)

// marks are the comments' marks for the next block.
type marks struct {
	notRun, file, output string
	marked, exact        bool
	exits                int
}

func (m *marks) read(line string) bool {
	if x := notRunMark.FindStringSubmatch(line); x != nil {
		m.marked, m.notRun = true, strings.TrimSpace(x[1])
		return true
	}
	if x := fileMark.FindStringSubmatch(line); x != nil {
		m.file = x[1]
		return true
	}
	if x := exitMark.FindStringSubmatch(line); x != nil {
		m.exits = int(x[1][0] - '0')
		return true
	}
	if x := outputMark.FindStringSubmatch(line); x != nil {
		m.output = cmp.Or(x[1], lastCommand)
		return true
	}
	if line == exactMark {
		m.exact = true
		return true
	}
	return false
}

// blocksOf returns the code blocks of a page: fenced, or indented by four spaces after an empty line or a comment.
// Indented blocks separated only by empty lines form one block.
func blocksOf(text string) ([]block, error) {
	var out []block
	var next marks
	var current *block
	before := ""
	finish := func() {
		if current != nil {
			current.text = strings.TrimRight(current.text, "\n") + "\n"
			out = append(out, *current)
			current = nil
		}
	}
	begin := func(line int) {
		current = &block{line: line, notRun: next.notRun, marked: next.marked, file: next.file, exits: next.exits, output: next.output, exact: next.exact}
		next = marks{}
	}
	for i, line := range strings.Split(text, "\n") {
		indented, code := strings.CutPrefix(line, "    ")
		switch {
		case current != nil && current.fenced:
			if strings.HasPrefix(line, "```") {
				finish()
			} else {
				current.text += line + "\n"
			}
		case strings.HasPrefix(line, "```"):
			finish()
			begin(i + 2)
			current.fenced, current.fence = true, strings.TrimPrefix(line, "```")
		case code && (current != nil || before == ""):
			if current == nil {
				begin(i + 1)
			}
			current.text += indented + "\n"
		case line == "" && current != nil:
			current.text += "\n"
		default:
			finish()
			switch {
			case next.read(line):
				line = "" // a block may follow immediately
			case line != "" && next != marks{}:
				return nil, fmt.Errorf("line %d: a mark that no block follows", i+1)
			}
		}
		before = line
	}
	finish()
	return out, nil
}

// command is one command line of a page, with its sample output.
type command struct {
	line   int
	text   string
	exits  int
	sample string // "" if the page shows none
	exact  bool
}

// commandsOf returns the command lines of a block: those after a prompt if there are prompts, otherwise all lines
// except comments. A line that ends in a backslash continues on the next. The text below a prompt's command is the
// sample of its output.
func (b *block) commandsOf() []command {
	prompts := strings.HasPrefix(b.text, "$ ")
	var out []command
	open := false // the line before continues
	for i, line := range strings.Split(b.text, "\n") {
		text, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case open:
			last := &out[len(out)-1]
			last.text += "\n" + line
		case prompts && !prompt:
			out[len(out)-1].sample += line + "\n"
			continue
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
			continue
		default:
			out = append(out, command{line: b.line + i, text: text, exits: b.exits, exact: b.exact})
		}
		open = strings.HasSuffix(line, "\\")
	}
	return out
}

// isCode reports whether the block is to be run: it has prompts, or its language is a shell or not given.
func (b *block) isCode() bool {
	if b.fenced {
		return b.fence == "sh" || strings.HasPrefix(b.text, "$ ")
	}
	return true
}
