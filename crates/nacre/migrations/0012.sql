-- Schema 12: two contents are the same only if they are equal after trimming, Unicode NFC, white space and case. Until
-- schema 11 signs and punctuation did not count either, and `C++` and `C#` were one name.

UPDATE entries SET folded = entry_identity(content, data);
UPDATE names SET folded = name_key(name);
