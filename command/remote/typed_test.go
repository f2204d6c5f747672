package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"fairlane/internal/i18n"
)

// pty returns a terminal: a write to keys types, and screen shows the echo.
func pty(t *testing.T) (keys, tty *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return keys, tty
}

// prompted types each text as soon as the next prompt is shown.
type prompted struct {
	bytes.Buffer
	keys *os.File
	ends string // end of a prompt
	say  []string
}

func (p *prompted) Write(b []byte) (int, error) {
	n, err := p.Buffer.Write(b)
	if bytes.HasSuffix(b, []byte(p.ends)) && len(p.say) > 0 {
		_, werr := p.keys.WriteString(p.say[0])
		p.say = p.say[1:]
		err = errors.Join(err, werr)
	}
	return n, err
}

func atTerminal(t *testing.T, say ...string) (*cli, *cobra.Command, *prompted, *os.File) {
	t.Helper()
	keys, tty := pty(t)
	text, err := i18n.Load(i18n.Default)
	if err != nil {
		t.Fatal(err)
	}
	cmd := &cobra.Command{}
	out := &prompted{keys: keys, ends: ": ", say: say}
	cmd.SetIn(tty)
	cmd.SetErr(out)
	cmd.SetContext(t.Context())
	return &cli{texts: text}, cmd, out, tty
}

func echoes(t *testing.T, tty *os.File) bool {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return s.Lflag&unix.ECHO != 0
}

func TestASecretIsPromptedForOnATerminal(t *testing.T) {
	t.Parallel()
	c, cmd, out, tty := atTerminal(t, "correct horse\n")
	got, err := c.secretFrom(cmd, "-", "msg.password")
	if err != nil || got != "correct horse" || out.String() != "Password: \n" {
		t.Errorf("typed %q, %v after %q", got, err, out.String())
	}
	if !echoes(t, tty) {
		t.Error("the terminal does not show what is typed any more")
	}
}

func TestANewSecretIsTypedTwice(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		second string
		fails  bool
	}{"the same": {"battery staple", false}, "another": {"battery stable", true}, "nothing": {"", true}} {
		c, cmd, out, _ := atTerminal(t, "battery staple\n", x.second+"\n")
		got, err := c.newSecretFrom(cmd, "-")
		if (err != nil) != x.fails || !x.fails && got != "battery staple" || strings.Contains(out.String(), "battery") {
			t.Errorf("%s: %q, %v after %q", name, got, err, out.String())
		}
	}
}

func TestAnInterruptedPromptRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	for _, secret := range []bool{true, false} {
		_, cmd, _, tty := atTerminal(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		cmd.SetContext(ctx)
		why := errors.New("enough")
		cancel(why)
		if _, err := typed(cmd, tty, "Password:", secret); !errors.Is(err, why) {
			t.Errorf("interrupted: %v", err)
		}
		if !term.IsTerminal(int(tty.Fd())) {
			t.Error("no terminal any more")
		}
	}
}
