package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// maxTyped is the maximum length of a typed line, in bytes.
const maxTyped = 4096

// person returns standard input if it is a terminal, otherwise nil.
func person(cmd *cobra.Command) *os.File {
	if in, ok := cmd.InOrStdin().(*os.File); ok && terminal(in) {
		return in
	}
	return nil
}

// typed prompts on standard error and reads one line from the terminal, without echo for a secret. If the command is
// interrupted, it restores the terminal's settings.
func typed(cmd *cobra.Command, in *os.File, prompt string, secret bool) (string, error) {
	fmt.Fprint(cmd.ErrOrStderr(), prompt+" ")
	fd := int(in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the state of the terminal: %w", err)
	}
	type line struct {
		text string
		err  error
	}
	// A read of a terminal cannot be cancelled: after an interruption it ends with the process. It has its own
	// descriptor, so that it never reads what is opened after the terminal was closed.
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open the terminal again: %w", err)
	}
	tty := os.NewFile(uintptr(own), in.Name())
	read := make(chan line, 1)
	go func() {
		defer func() { _ = tty.Close() }() // read only
		if secret {
			b, err := term.ReadPassword(own)
			read <- line{string(b), err}
			return
		}
		text, err := bufio.NewReader(io.LimitReader(tty, maxTyped)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		if secret {
			fmt.Fprintln(cmd.ErrOrStderr()) // the newline was not echoed either
		}
		return l.text, l.err
	case <-cmd.Context().Done():
		fmt.Fprintln(cmd.ErrOrStderr())
		return "", errors.Join(context.Cause(cmd.Context()), term.Restore(fd, before))
	}
}
