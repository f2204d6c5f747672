package rdmanl

import (
	"bytes"
	"fmt"
)

// Add decodes one datagram from the kernel into a reply. Messages with another sequence number and unknown attributes are
// ignored. It returns a *KernelError if the kernel rejected the request, and a *FormatError for an invalid message.
func (c Codec) Add(to *Reply, b []byte, sequence uint32) error {
	for len(b) > 0 {
		if len(b) < sizeHeader {
			return &FormatError{"message", fmt.Sprintf("%d bytes", len(b)), fmt.Sprintf("at least %d", sizeHeader)}
		}
		n := c.Order.Uint32(b)
		if n < sizeHeader || uint64(n) > uint64(len(b)) {
			return &FormatError{"message length", fmt.Sprint(n), fmt.Sprintf("%d..%d", sizeHeader, len(b))}
		}
		if c.Order.Uint32(b[8:]) == sequence {
			if err := c.message(to, b[:n]); err != nil {
				return err
			}
			if to.Done {
				return nil
			}
		}
		b = b[min(align(int(n)), len(b)):]
	}
	return nil
}

func align(n int) int { return (n + 3) &^ 3 }

func (c Codec) message(to *Reply, b []byte) error {
	if c.Order.Uint16(b[6:])&flagInterrupted != 0 {
		to.Interrupted = true
	}
	typ, body := c.Order.Uint16(b[4:]), b[sizeHeader:]
	switch typ {
	case typeError, typeDone:
		if len(body) == 0 && typ == typeDone {
			to.Done = true
			return nil
		}
		if len(body) < 4 {
			return &FormatError{"end", fmt.Sprintf("%d bytes", len(body)), "at least 4"}
		}
		if errno := int32(c.Order.Uint32(body)); errno < 0 { // an int on the wire
			return &KernelError{-errno}
		}
		to.Done = true
		return nil
	case client<<clientShift | cmdGet:
		return c.device(to, body)
	case client<<clientShift | cmdStatGet:
		return c.each(body, "message", func(typ uint16, p []byte) error {
			if typ != attrSets {
				return nil
			}
			return c.each(p, "counter sets", func(typ uint16, p []byte) error {
				if typ != attrSet {
					return nil
				}
				return c.set(to, p)
			})
		})
	}
	return &FormatError{"type", fmt.Sprint(typ), fmt.Sprintf("%d, %d, %d or %d", typeError, typeDone, client<<clientShift|cmdGet, client<<clientShift|cmdStatGet)}
}

// each calls f for the attributes of a part.
func (c Codec) each(b []byte, part string, f func(uint16, []byte) error) error {
	for len(b) > 0 {
		if len(b) < sizeAttr {
			return &FormatError{part, fmt.Sprintf("%d bytes after the last attribute", len(b)), "none"}
		}
		n, typ := int(c.Order.Uint16(b)), c.Order.Uint16(b[2:])&attrTypes
		if n < sizeAttr || n > len(b) {
			return &FormatError{fmt.Sprintf("attribute %d of %s", typ, part), fmt.Sprintf("length %d", n), fmt.Sprintf("%d..%d", sizeAttr, len(b))}
		}
		if err := f(typ, b[sizeAttr:n]); err != nil {
			return err
		}
		b = b[min(align(n), len(b)):]
	}
	return nil
}

func (c Codec) device(to *Reply, b []byte) error {
	var d Device
	var index bool
	err := c.each(b, "device", func(typ uint16, p []byte) (err error) {
		switch typ {
		case attrDevIndex:
			index = true
			d.Index, err = c.u32("index of a device", p)
		case attrDevName:
			d.Name, err = text("name of a device", p)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !index || d.Name == "":
		return &FormatError{"device", "one without index or name", "both"}
	case len(to.Devices) == MaxDevices:
		return &FormatError{"devices", "more", fmt.Sprintf("at most %d", MaxDevices)}
	}
	to.Devices = append(to.Devices, d)
	return nil
}

// set decodes a counter set. The kernel sends a set twice if another one was created in the meantime: the newer reading
// replaces the older.
func (c Codec) set(to *Reply, b []byte) error {
	var s CounterSet
	var id bool
	err := c.each(b, "counter set", func(typ uint16, p []byte) (err error) {
		switch typ {
		case attrSetID:
			id = true
			s.ID, err = c.u32("id of a counter set", p)
		case attrPortIndex:
			s.Port, err = c.u32("port of a counter set", p)
		case attrMode:
			var m uint32
			m, err = c.u32("mode of a counter set", p)
			s.Mode = Mode(m)
		case attrPID:
			s.PID, err = c.u32("process of a counter set", p)
		case attrKernel:
			s.Kernel, err = text("owner of a counter set", p)
		case attrQP:
			err = c.qps(&s, p)
		case attrCounters:
			err = c.counters(&s, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	if !id {
		return &FormatError{"counter set", "no id", "one"}
	}
	for i := range to.Sets {
		if to.Sets[i].ID == s.ID {
			to.Sets[i] = s
			return nil
		}
	}
	if len(to.Sets) == MaxSets {
		return &FormatError{"counter sets", "more", fmt.Sprintf("at most %d", MaxSets)}
	}
	to.Sets = append(to.Sets, s)
	return nil
}

// qps decodes the queue pairs of a set.
func (c Codec) qps(s *CounterSet, b []byte) error {
	return c.each(b, "queue pairs", func(typ uint16, p []byte) error {
		if typ != attrQPEntry {
			return nil
		}
		number, found := uint32(0), false
		err := c.each(p, "queue pair", func(typ uint16, p []byte) (err error) {
			if typ == attrQPNumber {
				found = true
				number, err = c.u32("number of a queue pair", p)
			}
			return err
		})
		if err != nil {
			return err
		}
		if !found {
			return &FormatError{"queue pair", "no number", "one"}
		}
		s.QPCount++
		if len(s.QPs) < MaxQPs {
			s.QPs = append(s.QPs, number)
		}
		return nil
	})
}

// counters decodes the counters of a set.
func (c Codec) counters(s *CounterSet, b []byte) error {
	return c.each(b, "counters", func(typ uint16, p []byte) error {
		if typ != attrCounter {
			return nil
		}
		var k Counter
		err := c.each(p, "counter", func(typ uint16, p []byte) (err error) {
			switch typ {
			case attrName:
				k.Name, err = text("name of a counter", p)
			case attrValue:
				if len(p) != 8 {
					return &FormatError{"value of a counter", fmt.Sprintf("%d bytes", len(p)), "8"}
				}
				k.Value = new(c.Order.Uint64(p))
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case k.Name == "":
			return &FormatError{"counter", "no name", "one"}
		case len(s.Counters) == MaxCounters:
			return &FormatError{"counters of a set", "more", fmt.Sprintf("at most %d", MaxCounters)}
		}
		s.Counters = append(s.Counters, k)
		return nil
	})
}

func (c Codec) u32(part string, p []byte) (uint32, error) {
	if len(p) != 4 {
		return 0, &FormatError{part, fmt.Sprintf("%d bytes", len(p)), "4"}
	}
	return c.Order.Uint32(p), nil
}

// text decodes a string with a terminating zero.
func text(part string, p []byte) (string, error) {
	s, _, ended := bytes.Cut(p, []byte{0})
	if !ended || len(s) > MaxName {
		return "", &FormatError{part, fmt.Sprintf("%d bytes", len(p)), fmt.Sprintf("at most %d and a 0", MaxName)}
	}
	return string(s), nil
}
