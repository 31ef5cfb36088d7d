"""Text to token ids and back."""

from __future__ import annotations

from radixkv.tokenizer.chat_template import ChatTemplate
from radixkv.tokenizer.detokenizer import Detokenizer
from radixkv.tokenizer.loading import load_tokenizer
from radixkv.tokenizer.segments import Message, Segment
from radixkv.tokenizer.stop_matcher import StopMatcher
from radixkv.tokenizer.tokenizer import Tokenizer

__all__ = ["ChatTemplate", "Detokenizer", "Message", "Segment", "StopMatcher", "Tokenizer", "load_tokenizer"]
