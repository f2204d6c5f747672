package gnmitree

import "slices"

// held is the client's state of a subscription. It is a tree, so that the leaves below a node are found without a complete
// search.
type held struct {
	root   heldNode
	leaves int
}

type heldNode struct {
	elem     Elem
	leaf     *heldLeaf
	children map[string]*heldNode // by the element as text
}

// heldLeaf is a leaf with the client's value.
type heldLeaf struct {
	path    Path
	value   Value
	sampled bool
	round   uint64 // the last reading that contained it
}

// leaf returns the leaf at a path, and creates it if it is unknown.
func (h *held) leaf(p Path) (l *heldLeaf, known bool) {
	n := &h.root
	var buffer [96]byte
	for i := range p.Elems {
		key := elemKey(buffer[:0], p.Elems[i])
		c := n.children[string(key)]
		if c == nil {
			c = &heldNode{elem: p.Elems[i]}
			if n.children == nil {
				n.children = map[string]*heldNode{}
			}
			n.children[string(key)] = c
		}
		n = c
	}
	if n.leaf != nil {
		return n.leaf, true
	}
	n.leaf = &heldLeaf{}
	h.leaves++
	return n.leaf, false
}

// elemKey appends a text that is unique to an element.
func elemKey(b []byte, e Elem) []byte {
	if len(e.Keys) == 0 {
		return append(append(b, 'n'), e.Name...)
	}
	return Path{Elems: []Elem{e}}.append(append(b, 'k'))
}

// prune removes the leaves at or below the nodes that match query, except those for which keep returns true, and returns their
// paths in order.
func (h *held) prune(query Path, keep func(*heldLeaf) bool) []Path {
	var gone []Path
	h.root.prune(query.Elems, keep, &gone)
	h.leaves -= len(gone)
	slices.SortFunc(gone, Path.Compare)
	return gone
}

func (n *heldNode) prune(query []Elem, keep func(*heldLeaf) bool, gone *[]Path) {
	if len(query) > 0 && query[0].Name == AnyDepth {
		query = nil // such a query is the subscription's own pattern, which covers all leaves here
	}
	if len(query) > 0 {
		n.pruneMatching(query, keep, gone)
		return
	}
	if n.leaf != nil && !keep(n.leaf) {
		*gone = append(*gone, n.leaf.path)
		n.leaf = nil
	}
	for key, c := range n.children {
		c.prune(nil, keep, gone)
		n.drop(key, c)
	}
}

// pruneMatching prunes the children that match the first element of query.
func (n *heldNode) pruneMatching(query []Elem, keep func(*heldLeaf) bool, gone *[]Path) {
	key := string(elemKey(nil, query[0]))
	if c := n.children[key]; c != nil {
		c.prune(query[1:], keep, gone)
		n.drop(key, c)
		return
	}
	for key, c := range n.children {
		if matchElem(query[0], c.elem) {
			c.prune(query[1:], keep, gone)
			n.drop(key, c)
		}
	}
}

// drop removes an empty child.
func (n *heldNode) drop(key string, c *heldNode) {
	if c.leaf == nil && len(c.children) == 0 {
		delete(n.children, key)
	}
}
