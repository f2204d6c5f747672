package nicfiles

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicparam"
)

// HWCounters reads the counters of a port of an RDMA device, such as "mlx5_0". An unreadable counter has its error and no
// value. A port without counters, such as one that does not exist, is ErrAbsent.
func HWCounters(files Files, device string, port int) (niccount.Counters, error) {
	if err := checkName("RDMA device", device, 63); err != nil {
		return nil, err
	}
	dir := "sys/class/infiniband/" + device + "/ports/" + strconv.Itoa(port) + "/hw_counters"
	names, err := files.List(dir)
	if err != nil {
		return nil, fmt.Errorf("counters of %s port %d: %w", device, port, fileError(dir, ErrUnreadable, err))
	}
	out := niccount.Counters{}
	for _, name := range names {
		if name == "lifespan" { // lifetime of cached values, in ms
			continue
		}
		out[name] = readCounter(files, dir, name)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("counters of %s port %d: %s: %w", device, port, dir, ErrAbsent)
	}
	return out, nil
}

func readCounter(files Files, dir, name string) niccount.Counter {
	c := niccount.Counter{Name: name}
	b, err := files.Read(dir + "/" + name)
	if err != nil {
		c.Err = fileError(dir+"/"+name, ErrUnreadable, err)
		return c
	}
	word := strings.TrimSpace(string(b))
	v, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		c.Err = fmt.Errorf("%s/%s: %w: found %q, want 0..18446744073709551615: %w", dir, name, ErrUnreadable, nicparam.Clip(word), errors.Unwrap(err))
		return c
	}
	c.Value = v
	return c
}
