package gnmitest

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// read passes on the client's output.
func (s *Stream) read(out io.Reader) {
	defer close(s.lines)
	for text := bufio.NewScanner(out); text.Scan(); {
		s.lines <- text.Text()
	}
}

// Until reads lines until one contains all of words, and returns it. It returns an error if the client ends before that.
func (s *Stream) Until(words ...string) (string, error) {
	var heard []string
	for line := range s.lines {
		heard = append(heard, line)
		if all(line, words) {
			return line, nil
		}
	}
	return "", fmt.Errorf("gnmi_cli ended without a line of %q, after %q", words, heard)
}

func all(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}
