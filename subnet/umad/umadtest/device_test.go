package umadtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/subnet/mad"
)

// ask registers an agent for performance management in the newer form.
func ask(d *Device) (id uint32, err error) {
	b := make([]byte, 40)
	binary.NativeEndian.PutUint32(b[4:], 1)
	b[8], b[9] = 4, 1
	err = d.Ioctl(register2, b)
	return binary.NativeEndian.Uint32(b), err
}

// datagram returns a Get of PortCounters after a header of the given length.
func datagram(header int, agent, timeout, tid uint32) []byte {
	b := make([]byte, header+mad.Size)
	binary.NativeEndian.PutUint32(b, agent)
	binary.NativeEndian.PutUint32(b[8:], timeout)
	p := mad.NewPerf(mad.MethodGet, mad.AttrPortCounters, 0)
	p.SetTID(uint64(tid))
	copy(b[header:], p[:])
	return b
}

func TestAFileHasRoomForThirtyTwoAgents(t *testing.T) {
	t.Parallel()
	d := New(nil)
	var last uint32
	for range maxAgents {
		id, err := ask(d)
		if err != nil {
			t.Fatal(err)
		}
		last = id
	}
	if _, err := ask(d); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("one more: error %v: want ENOMEM", err)
	}
	gone := binary.NativeEndian.AppendUint32(nil, last)
	if err := d.Ioctl(unregister, gone); err != nil {
		t.Error(err)
	}
	if err := d.Ioctl(unregister, gone); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("unregistered twice: error %v: want EINVAL", err)
	}
	if _, err := ask(d); err != nil {
		t.Errorf("the place is not free again: %v", err)
	}
}

func TestRegistrationsAreRefusedAsTheKernelDoes(t *testing.T) {
	t.Parallel()
	d := New(nil)
	flags := make([]byte, 40)
	flags[4], flags[8], flags[12] = 1, 4, 0xff // in a little-endian machine's order, and not 0 in the other
	if err := d.Ioctl(register2, flags); !errors.Is(err, syscall.EINVAL) || binary.NativeEndian.Uint32(flags[12:]) != 1 {
		t.Errorf("unknown flags: error %v, supported %x", err, flags[12:16])
	}
	smi := make([]byte, 28)
	smi[20], smi[21] = 1, 0x81 // subnet management at QP1
	if err := d.Ioctl(register, smi); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("subnet management at QP1: error %v", err)
	}
	if err := d.Ioctl(0x1234, nil); !errors.Is(err, syscall.ENOTTY) {
		t.Errorf("an unknown request: error %v", err)
	}
	if _, err := ask(d); err != nil {
		t.Fatal(err)
	}
	if err := d.Ioctl(enablePKey, nil); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("P_Key mode after a registration: error %v: want EINVAL", err)
	}
	d.Old = true
	if _, err := ask(d); !errors.Is(err, syscall.ENOTTY) {
		t.Errorf("the newer form on an old kernel: error %v: want ENOTTY", err)
	}
}

// Without P_Key mode, which old programs do not enable, the header has 56 bytes.
func TestWithoutPKeyModeTheHeaderIsShorter(t *testing.T) {
	t.Parallel()
	got := make(chan Sent, 1)
	d := New(func(s Sent) []byte {
		got <- s
		return s.MAD[:]
	})
	d.Old = true
	b := make([]byte, 28)
	b[20], b[21], b[22] = 1, 4, 1
	if err := d.Ioctl(register, b); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Write(datagram(56, binary.NativeEndian.Uint32(b), 1000, 7)); n != 56+256 || err != nil {
		t.Fatalf("%d bytes, error %v", n, err)
	}
	if s := <-got; s.MAD.Attr() != mad.AttrPortCounters {
		t.Errorf("sent %s", &s.MAD)
	}
	in := make([]byte, 64+256)
	if n, err := d.Read(in); n != 56+256 || err != nil || in[56] != mad.BaseVersion {
		t.Errorf("%d bytes, error %v", n, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadsAndWritesAreRefusedAsTheKernelDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := New(func(Sent) []byte { return nil })
		id, err := ask(d)
		if err != nil {
			t.Fatal(err)
		}
		first := datagram(64, id, 1000, 7)
		for _, c := range []struct {
			name string
			b    []byte
			want error
		}{
			{"too short", first[:64+23], syscall.EINVAL},
			{"too long", append(bytes.Clone(first), 0), syscall.EINVAL},
			{"no such agent", datagram(64, id+1, 1000, 7), syscall.EINVAL},
			{"the first", first, nil},
			{"its transaction again", first, syscall.EINVAL},
			{"another transaction", datagram(64, id, 1500, 8), nil},
		} {
			if _, err := d.Write(c.b); !errors.Is(err, c.want) {
				t.Errorf("%s: error %v: want %v", c.name, err, c.want)
			}
		}
		in := make([]byte, 64+256)
		start := time.Now()
		n, err := d.Read(in)
		if n != 64+24 || err != nil || in[4]|in[7] != 110 || time.Since(start) != time.Second || !bytes.Equal(in[64:72], first[64:72]) {
			t.Errorf("%d bytes after %s, status %x, error %v: want 88 bytes after 1 s with status 110", n, time.Since(start), in[4:8], err)
		}
		if _, err := d.Write(first); err != nil {
			t.Errorf("the transaction that timed out, again: %v", err)
		}
		if _, err := d.Read(in[:64+255]); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("a short buffer: error %v: want EINVAL", err)
		}
		if n, err := d.Read(in); n != 88 || err != nil {
			t.Errorf("after the short buffer: %d bytes, error %v", n, err)
		}
		d.Remove()
		if _, err := d.Read(in); !errors.Is(err, syscall.EIO) {
			t.Errorf("reading from a removed device: error %v: want EIO", err)
		}
		if _, err := d.Write(first); !errors.Is(err, syscall.EIO) {
			t.Errorf("writing to a removed device: error %v: want EIO", err)
		}
		if err := errors.Join(d.Close(), d.Close()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("closed twice: %v", err)
		}
	})
}
