// Verifies what the TypeScript package produces with golang.org/x/mod/sumdb, an independent implementation of the same
// formats. Without arguments it reads one JSON request per line and writes one verdict per line. With the argument
// "fixture" it writes trees, proofs and notes of its own making, which the TypeScript tests verify.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type request struct {
	Kind    string      `json:"kind"`
	Size    int64       `json:"size"`
	Root    tlog.Hash   `json:"root"`
	Index   int64       `json:"index"`
	Leaf    tlog.Hash   `json:"leaf"`
	OldSize int64       `json:"oldSize"`
	OldRoot tlog.Hash   `json:"oldRoot"`
	Proof   []tlog.Hash `json:"proof"`
	Tiles   []tileData  `json:"tiles"`
	Note    string      `json:"note"`
	Keys    []string    `json:"keys"`
}

type verdict struct {
	IsValid bool   `json:"isValid"`
	Reason  string `json:"reason,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	output := json.NewEncoder(os.Stdout)
	if len(os.Args) == 2 && os.Args[1] == "fixture" {
		fixture, err := makeFixture()
		if err != nil {
			return err
		}
		output.SetIndent("", " ")
		return output.Encode(fixture)
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 64<<20)
	for input.Scan() {
		if err := output.Encode(judge(input.Bytes())); err != nil {
			return err
		}
	}
	return input.Err()
}

func judge(line []byte) verdict {
	if err := verify(line); err != nil {
		return verdict{Reason: err.Error()}
	}
	return verdict{IsValid: true}
}

func verify(line []byte) error {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	switch r.Kind {
	case "inclusion":
		return tlog.CheckRecord(r.Proof, r.Size, r.Root, r.Index, r.Leaf)
	case "consistency":
		return tlog.CheckTree(r.Proof, r.Size, r.Root, r.OldSize, r.OldRoot)
	case "tiles":
		return checkTiles(r)
	case "note":
		return checkNote(r)
	}
	return errors.New("unknown kind of request")
}

// checkNote requires a valid signature of every given key.
func checkNote(r request) error {
	var verifiers []note.Verifier
	for _, key := range r.Keys {
		verifier, err := newVerifier(key)
		if err != nil {
			return err
		}
		verifiers = append(verifiers, verifier)
	}
	opened, err := note.Open([]byte(r.Note), note.VerifierList(verifiers...))
	if err != nil {
		return err
	}
	if len(opened.Sigs) != len(verifiers) {
		return fmt.Errorf("%d of %d keys signed the note", len(opened.Sigs), len(verifiers))
	}
	return nil
}
